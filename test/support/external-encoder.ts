/**
 * An encoder that is a program of its own, as people run it: for tests of what real encoders do.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A running encoder. Disposing it kills it when it has not ended yet. */
export interface ExternalEncoder extends AsyncDisposable {
  /** Settles when it ended, with what it wrote on standard error (the last 64 KiB); never rejects. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  /** Ends as Ctrl+C does: cleanly, with FCUnpublish. */
  stop(): Promise<void>;
  /** SIGKILL: the server sees a connection that ends without a word. */
  kill(): Promise<void>;
}

/** Starts a program with an argument list, never through a shell. A stream key among the arguments is one of a test. */
export function startEncoder(program: string, args: readonly string[]): ExternalEncoder {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-65_536);
  });
  const ended = once(child, 'close').then(
    () => ({ code: child.exitCode, output }),
    (error: Error) => ({ code: null, output: String(error) }),
  );
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return { ended, stop: () => end('SIGINT'), kill: () => end('SIGKILL'), [Symbol.asyncDispose]: () => end('SIGKILL') };
}
