/**
 * What the tests make go wrong inside the database workers. Production opens the engine without it.
 */
import type { DatabaseSync } from 'node:sqlite';

/** Shared with the workers, so that a test can change its mind while they run. Indexed by {@link FAULT}. */
export type Faults = Int32Array<SharedArrayBuffer>;

/** What each number means; 0 is no fault. */
export const FAULT = {
  /** A slow disk: every commit takes so many milliseconds, in the writer's thread. {@link setFault} ends the wait. */
  commitDelayMs: 0,
  /** A full disk: the database may not grow beyond so many pages. */
  maxPages: 1,
  /** A worker that dies: so many batches of calls end in an exception nobody catches. */
  crashes: 2,
  /** Not a fault: how many commits there were. */
  commits: 3,
  /** How many commits still fail with an I/O error after they were written, as on a failing disk. */
  failingCommits: 4,
  /** How many times a worker still dies after a commit, before it can answer. */
  crashesAfterCommit: 5,
} as const;

/** SQLite's result code of an I/O error. */
const IO_ERROR = 10;

/** SQLite's own limit of pages. */
const NO_LIMIT = 0xffff_fffe;

/** No faults yet. */
export function createFaults(): Faults {
  return new Int32Array(new SharedArrayBuffer(4 * Object.keys(FAULT).length));
}

/** Changes one fault while the workers run. */
export function setFault(faults: Faults, fault: keyof typeof FAULT, value: number): void {
  Atomics.store(faults, FAULT[fault], value);
  Atomics.notify(faults, FAULT[fault]);
}

/** At the beginning of a batch of writes. */
export function limitPages(db: DatabaseSync, faults: Faults): void {
  db.exec(`PRAGMA max_page_count = ${Atomics.load(faults, FAULT.maxPages) || NO_LIMIT}`);
}

/** Before a commit. */
export function holdCommit(faults: Faults): void {
  Atomics.add(faults, FAULT.commits, 1);
  const delayMs = Atomics.load(faults, FAULT.commitDelayMs);
  if (delayMs > 0) Atomics.wait(faults, FAULT.commitDelayMs, delayMs, delayMs);
}

/** Lets a commit that has happened look like a failed one. @throws what SQLite throws when the disk fails */
export function failCommit(faults: Faults): void {
  if (!isDue(faults, 'failingCommits')) return;
  throw Object.assign(new Error('disk I/O error'), { errcode: IO_ERROR });
}

/** At the beginning of any batch. */
export function crash(faults: Faults): void {
  if (isDue(faults, 'crashes')) throw new Error('a test asked this worker to die');
}

/** Ends the worker after a batch of writes, before it is answered, if a test asked for it. */
export function crashAfterCommit(faults: Faults): void {
  if (isDue(faults, 'crashesAfterCommit')) throw new Error('a test asked this worker to die');
}

/** Whether a test asked for this fault once more. Asking counts it as done. */
function isDue(faults: Faults, fault: keyof typeof FAULT): boolean {
  if (Atomics.load(faults, FAULT[fault]) <= 0) return false;
  Atomics.sub(faults, FAULT[fault], 1);
  return true;
}
