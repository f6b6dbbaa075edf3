/**
 * The thread that runs SQLite, whose calls block. One such thread writes and one reads. The main thread's side is `worker-lane.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#lib/clock.ts';
import { SqliteConnection } from './connection.ts';
import { crash, crashAfterCommit, noteAnswers } from './faults.ts';
import type { LaneRequest, WorkerJob } from './protocol.ts';
import { runReads } from './reads.ts';
import { runWrites } from './writes.ts';

const { role, path, faults } = workerData as WorkerJob;
const connection = new SqliteConnection(path, role, systemClock);

parentPort?.on('message', (message: LaneRequest) => {
  if (message === 'close') {
    connection.close();
    parentPort?.close();
    return;
  }
  if (faults !== undefined) crash(faults);
  const answers = role === 'write' ? runWrites(connection, message, faults) : runReads(connection, message);
  if (faults !== undefined && role === 'write') crashAfterCommit(faults);
  parentPort?.postMessage(answers);
  if (faults !== undefined && role === 'write') noteAnswers(faults);
});
