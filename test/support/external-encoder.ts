/**
 * Runs an encoder that is a program of its own, such as ffmpeg, for tests with real encoders.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A running encoder. Disposing it kills it when it has not ended yet. */
export interface ExternalEncoder extends AsyncDisposable {
  /** Resolves when the encoder has ended, with the last 64 KiB of its standard error. Never rejects. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  /** Ends the encoder as Ctrl+C does: cleanly, with FCUnpublish. */
  stop(): Promise<void>;
  /** Kills the encoder with SIGKILL, so that the connection ends without FCUnpublish. */
  kill(): Promise<void>;
}

/**
 * Starts a program with a list of arguments, not through a shell. Stream keys in the arguments are visible to others, so they must be those
 * of tests.
 */
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
