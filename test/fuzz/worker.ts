/**
 * The thread that fuzzes one target until its time is over. Started by `main.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Fuzzer } from './fuzzer.ts';
import { DEFAULT_MAX_BYTES } from './target.ts';
import { TARGETS } from './targets.ts';
import { WatchedInput } from './watched-input.ts';

/** The task of a thread. */
export interface FuzzTask {
  readonly target: string;
  readonly seed: number;
  readonly forMs: number;
  /** The memory of a {@link WatchedInput}. */
  readonly memory: SharedArrayBuffer;
}

/** How many inputs are read before the clock is read again. */
const BATCH = 500;

const { target: name, seed, forMs, memory } = workerData as FuzzTask;
const target = TARGETS.find((each) => each.name === name)!;
const watched = new WatchedInput(target.maxBytes ?? DEFAULT_MAX_BYTES, memory);
const reader = await target.open();
const now = () => performance.now();
const busyMs = () => performance.eventLoopUtilization().active;
const fuzzer = new Fuzzer(target, reader, { seed, now, busyMs, onInput: (input) => watched.note(input) });
const until = now() + forMs;
while (now() < until) await fuzzer.run(BATCH);
await reader[Symbol.asyncDispose]?.();
parentPort!.postMessage(fuzzer.report);
