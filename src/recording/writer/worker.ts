/**
 * The thread that writes recordings. Its calls to the file system block. Because it is a thread of its own, a slow or broken disk holds up
 * nothing else. The main thread's side is `writer-thread.ts`.
 */
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#lib/clock.ts';
import { mustBeThere } from '#recording/recordings-folder.ts';
import type { StepResult, ToWriter, WriterAnswer, WriterJob, WriterStep } from './protocol.ts';
import { RecordingFiles } from './recording-files.ts';

/** How often the thread checks which files must be made durable. */
const CHECK_MS = 100;
/** The shortest time between two checks of the free space. */
const SPACE_CHECK_MS = 1000;

const { place, syncS, minFreeBytes } = workerData as WriterJob;
const { folder } = place;
const open = new Map<string, RecordingFiles>();
/** The recordings whose steps fail until they are opened again, and why. */
const failed = new Map<string, Extract<StepResult, { type: 'failed' }>>();
let hasSpace = true;
let spaceCheckedAt = Number.NEGATIVE_INFINITY;

parentPort?.on('message', (message: ToWriter) => {
  if (message === 'close') {
    clearInterval(checks);
    for (const files of open.values()) files.abandon();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage({ results: message.map(take) } satisfies WriterAnswer);
  syncDue();
});
const checks = setInterval(syncDue, CHECK_MS);

function take(step: WriterStep): StepResult {
  const { path } = step;
  if (step.type === 'open') failed.delete(path);
  const failure = failed.get(path);
  if (failure !== undefined) return failure;
  let files = open.get(path);
  if (files === undefined) {
    files = new RecordingFiles(join(folder, path));
    open.set(path, files);
  }
  try {
    if (step.type === 'open') mustBeThere(place);
    if (needsSpace(step)) mustHaveSpace();
    const result = files.do(step, systemClock.monotonic());
    if (step.type === 'pause' || step.type === 'end') {
      open.delete(path);
      failed.delete(path);
    }
    return result;
  } catch (error) {
    return fail(path, error);
  }
}

/**
 * Whether a step needs free space: those after which media is written. A recording can be ended without. Parts fail anyway when the disk is
 * full.
 */
function needsSpace(step: WriterStep): boolean {
  return step.type === 'volume' || (step.type === 'open' && step.manifest !== undefined);
}

function mustHaveSpace(): void {
  const now = systemClock.monotonic();
  if (now - spaceCheckedAt >= SPACE_CHECK_MS) {
    spaceCheckedAt = now;
    hasSpace = freeBytes() >= minFreeBytes;
  }
  if (!hasSpace) throw Object.assign(new Error('there is too little free space'), { code: 'ENOSPC' });
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY; // the folder is created with the first recording
  }
}

/** Makes durable what was written `syncS` seconds ago or earlier. When that fails, all further steps of the recording fail. */
function syncDue(): void {
  if (syncS === 0) return;
  for (const [path, files] of open) {
    const { dirtySince } = files;
    if (dirtySince === undefined || systemClock.monotonic() - dirtySince < syncS * 1000) continue;
    try {
      files.sync();
    } catch (error) {
      fail(path, error);
    }
  }
}

function fail(path: string, error: unknown): StepResult {
  open.get(path)?.abandon();
  open.delete(path);
  const { code, message } = error as NodeJS.ErrnoException;
  const failure = { type: 'failed', reason: message, code } as const;
  failed.set(path, failure);
  return failure;
}
