/**
 * The real program in a process of its own, which also reports how long its event loop was blocked.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ServerOptions, type ServerProcess, startServerProcess } from '../../test/support/server.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import type { InsideQuestion, LoopReport, MemoryReport } from '../peers/inside-server.ts';

const INSIDE = pathToFileURL(join(import.meta.dirname, '../peers/inside-server.ts')).href;

/** A server that can be asked about itself. */
export interface ObservedServer extends ServerProcess {
  /** What happened in its event loop since the last call. */
  loop(): Promise<LoopReport>;
  /** Its memory in use after a garbage collection. */
  memory(): Promise<MemoryReport>;
  /** How many bytes it has logged so far. */
  logBytes(): number;
}

/** Starts an observed server, with the options of {@link startServerProcess}. */
export async function startObservedServer(options: ServerOptions = {}): Promise<ObservedServer> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await temporaryFolder());
  const socket = join(folder.path, 'inside');
  // The server's child processes do not inherit its environment.
  const settings = { ...options.settings, NODE_OPTIONS: `--import=${INSIDE}`, BENCH_SOCKET: socket };
  const server = parts.use(await startServerProcess({ ...options, settings }));
  const running = parts.move();
  return {
    ...server,
    loop: async () => (await ask(socket, 'loop')) as LoopReport,
    memory: async () => (await ask(socket, 'memory')) as MemoryReport,
    logBytes: () => server.logLines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function ask(path: string, question: InsideQuestion): Promise<unknown> {
  const socket = connect({ path });
  await once(socket, 'connect');
  socket.write(question);
  let answer = '';
  for await (const piece of socket.setEncoding('utf8')) answer += String(piece);
  return JSON.parse(answer);
}
