/**
 * Reports what cannot be seen from outside a server's process. It is loaded there before the program (`node --import`), listens on the
 * Unix socket that `BENCH_SOCKET` names, takes one question a connection and answers it with one line of JSON.
 */
import { subscribe } from 'node:diagnostics_channel';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/** What happened in the server since this was last asked. */
export interface LoopReport {
  /** The most CPU time the main thread used between two turns of its timers, in milliseconds. A busy machine does not raise it. */
  readonly blockMs: number;
  /** The longest time between two turns of its timers, in milliseconds. It includes moments in which the thread had no core. */
  readonly pauseMs: number;
  /** How late its timers were at the 99th percentile, in milliseconds. */
  readonly delayP99Ms: number;
  /** How many HTTP/1.1 requests arrived. */
  readonly requests: number;
}

/** The memory in use after a garbage collection. */
export interface MemoryReport {
  /** JavaScript's heap, and the memory outside it that its objects hold. */
  readonly heapBytes: number;
}

/** The questions that the server's process answers. */
export type InsideQuestion = 'loop' | 'memory';

const LOOK_EVERY_MS = 1;

const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();

let requests = 0;
subscribe('http.server.request.start', () => {
  requests += 1;
});

let longest = { blockMs: 0, pauseMs: 0 };
let lookedAtMs = performance.now();
let usedMs = threadMs();
setInterval(() => {
  const nowMs = performance.now();
  const nowUsedMs = threadMs();
  longest = {
    blockMs: Math.max(longest.blockMs, nowUsedMs - usedMs),
    pauseMs: Math.max(longest.pauseMs, nowMs - lookedAtMs),
  };
  lookedAtMs = nowMs;
  usedMs = nowUsedMs;
}, LOOK_EVERY_MS).unref();

/** The CPU time of the current thread, in milliseconds. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function loopReport(): LoopReport {
  const report = { ...longest, delayP99Ms: delays.percentile(99) / 1e6, requests };
  delays.reset();
  longest = { blockMs: 0, pauseMs: 0 };
  requests = 0;
  return report;
}

function memoryReport(): MemoryReport {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The second collection frees what finalizers of the first one have released.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return { heapBytes: heapUsed + external };
}

const path = process.env.BENCH_SOCKET;
// Worker threads load this file, too, and may end at any time.
if (path !== undefined && isMainThread) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.setEncoding('utf8').once('data', (question) => {
      socket.end(JSON.stringify(String(question) === 'memory' ? memoryReport() : loopReport()));
    });
  });
  server.listen(path).unref();
  process.once('exit', () => rmSync(path, { force: true }));
}
