/**
 * The process of the fork server. It is started by `fork-server.ts`, never by hand. When its IPC channel closes, it ends, and its workers
 * with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { bareEnvironment } from '#lib/bare-environment.ts';
import type {
  FromForkServer,
  ProcessEnd,
  ToForkServer,
  WorkerNumber,
  WorkerProgram,
} from '#transcode/fork-server-messages.ts';
import { ignoreServersSignals } from '#transcode/ignored-signals.ts';
import { limitMemory } from '#transcode/worker-memory.ts';

const FILES: Readonly<Record<WorkerProgram, string>> = {
  transcoder: join(import.meta.dirname, '../worker/main.ts'),
  test_picture: join(import.meta.dirname, '../worker/test-picture.ts'),
};
/** The limit of a worker's JavaScript heap, which is small, because frames are outside of it. */
const MAX_HEAP_MIB = 64;
/** A priority below that of the server: when CPU is short, renditions wait and everything else continues. */
const NICENESS = 5;
/** The number of characters kept of a worker's standard error, for the log. */
const MAX_DETAIL_LENGTH = 2000;
/** How often this process checks that the server still runs. */
const LOOK_EVERY_MS = 1000;

const workers = new Map<WorkerNumber, ChildProcess>();

ignoreServersSignals();
process.on('message', (message: ToForkServer) => {
  const { worker } = message;
  switch (message.type) {
    case 'start':
      void start(worker, message.program);
      break;
    case 'kill':
      workers.get(worker)?.kill('SIGKILL');
      break;
    case 'limit':
      void limit(worker, message.limitBytes);
      break;
  }
});
process.on('disconnect', endAll);
// While a connection waits for the server's confirmation, Node reports no disconnect. A server that is gone never confirms one.
setInterval(() => {
  if (!process.connected) endAll();
}, LOOK_EVERY_MS);

/** Ends this process, and the workers that have not ended by themselves with their connection. */
function endAll(): void {
  for (const child of workers.values()) child.kill('SIGKILL');
  process.kill(process.pid, 'SIGKILL');
}

async function start(worker: WorkerNumber, program: WorkerProgram): Promise<void> {
  const processEnd = await run(worker, program).catch((error: unknown): ProcessEnd => ({ detail: String(error) }));
  workers.delete(worker);
  report({ type: 'ended', worker, ...processEnd });
}

/** Runs a worker until it has ended. @throws {Error} when the system does not start it */
async function run(worker: WorkerNumber, program: WorkerProgram): Promise<ProcessEnd> {
  const child = spawn(process.execPath, [`--max-old-space-size=${MAX_HEAP_MIB}`, FILES[program]], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: bareEnvironment(),
  });
  // Rejects when the process was not started. Some errors of the system are thrown above, and others are emitted.
  const exited = once(child, 'exit');
  const detail = readStandardError(child);
  if (child.pid !== undefined) {
    workers.set(worker, child);
    lowerPriority(child.pid);
    report({ type: 'started', worker, pid: child.pid }, child.stdio[3] as Socket);
    // Until the server has confirmed the connection, Node still reads from it here. It sends the next message only afterwards. A worker
    // sends nothing before the server does, so no byte is lost.
    report({ type: 'handed_over', worker });
  }
  const [[code, signal], text] = await Promise.all([exited as Promise<[number | null, string | null]>, detail]);
  return { exit: code ?? signal ?? undefined, detail: text };
}

/** Reads a worker's standard error to its end, and returns the last characters. A process that was not started may have none. */
async function readStandardError({ stderr }: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of stderr?.setEncoding('utf8') ?? []) text = (text + String(chunk)).slice(-MAX_DETAIL_LENGTH);
  return text;
}

async function limit(worker: WorkerNumber, limitBytes: number): Promise<void> {
  const pid = workers.get(worker)?.pid;
  if (pid !== undefined) report({ type: 'limited', worker, isLimited: await limitMemory(pid, limitBytes) });
}

function report(message: FromForkServer, connection?: Socket): void {
  // An error means that the server is gone.
  if (process.connected) process.send!(message, connection, {}, () => {});
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS);
  } catch {
    // The process is already gone, or the system does not allow it. Neither matters.
  }
}
