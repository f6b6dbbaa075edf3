/**
 * Faults that tests inject into the database workers. Production opens the engine without them.
 */
import type { DatabaseSync } from 'node:sqlite';

/** Memory shared with the workers, so that a test can change faults while they run. Indexed by {@link FAULT}. */
export type Faults = Int32Array<SharedArrayBuffer>;

/** The index of each fault. The value 0 means no fault. */
export const FAULT = {
  /** A slow disk: every commit takes this many milliseconds in the writer's thread. {@link setFault} ends the wait. */
  commitDelayMs: 0,
  /** A full disk: the largest number of pages of the database. */
  maxPages: 1,
  /** A worker that dies: the number of batches that still end in an uncaught exception. */
  crashes: 2,
  /** Not a fault: the number of commits. */
  commits: 3,
  /** A failing disk: the number of commits that still fail with an I/O error after they were written. */
  failingCommits: 4,
  /** The number of times that a worker still dies after a commit, before it can answer. */
  crashesAfterCommit: 5,
  /** Not a fault: the number of commits whose answers the writer has sent. */
  answeredCommits: 6,
} as const;

/** SQLite's result code of an I/O error. */
const IO_ERROR = 10;

/** SQLite's default limit of pages. */
const NO_LIMIT = 0xffff_fffe;

/** Makes shared memory without faults. */
export function createFaults(): Faults {
  return new Int32Array(new SharedArrayBuffer(4 * Object.keys(FAULT).length));
}

/** Changes one fault while the workers run. */
export function setFault(faults: Faults, fault: keyof typeof FAULT, value: number): void {
  Atomics.store(faults, FAULT[fault], value);
  Atomics.notify(faults, FAULT[fault]);
}

/** Applies the page limit. Called at the beginning of a batch of writes. */
export function limitPages(db: DatabaseSync, faults: Faults): void {
  db.exec(`PRAGMA max_page_count = ${Atomics.load(faults, FAULT.maxPages) || NO_LIMIT}`);
}

/** Delays a commit. Called before it. */
export function holdCommit(faults: Faults): void {
  Atomics.add(faults, FAULT.commits, 1);
  const delayMs = Atomics.load(faults, FAULT.commitDelayMs);
  if (delayMs > 0) Atomics.wait(faults, FAULT.commitDelayMs, delayMs, delayMs);
}

/** Makes a successful commit look like a failed one. @throws the error of SQLite for a failing disk */
export function failCommit(faults: Faults): void {
  if (!isDue(faults, 'failingCommits')) return;
  throw Object.assign(new Error('disk I/O error'), { errcode: IO_ERROR });
}

/** Ends the worker if a test asked for it. Called at the beginning of every batch. */
export function crash(faults: Faults): void {
  if (isDue(faults, 'crashes')) throw new Error('a test asked this worker to die');
}

/** Ends the worker after a batch of writes, before it is answered, if a test asked for it. */
export function crashAfterCommit(faults: Faults): void {
  if (isDue(faults, 'crashesAfterCommit')) throw new Error('a test asked this worker to die');
}

/** Tells a blocked test that the answers of a batch of writes were sent. Called after sending them. */
export function noteAnswers(faults: Faults): void {
  Atomics.store(faults, FAULT.answeredCommits, Atomics.load(faults, FAULT.commits));
}

/** Whether a test asked for this fault once more. Each call counts the fault down. */
function isDue(faults: Faults, fault: keyof typeof FAULT): boolean {
  if (Atomics.load(faults, FAULT[fault]) <= 0) return false;
  Atomics.sub(faults, FAULT[fault], 1);
  return true;
}
