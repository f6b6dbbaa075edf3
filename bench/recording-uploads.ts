/**
 * Does every file of a recording reach the bucket as it was written, when the process is killed, and when the bucket is away?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '#lib/units.ts';
import { openBucket } from '#objects/engines.ts';
import { Uploader } from '#recording/uploader.ts';
import { killUploads } from '../test/support/killed-uploads.ts';
import { startObjectServer } from '../test/support/object-server.ts';
import { WrittenRecording } from '../test/support/recording-folder.ts';
import { SteppedTime } from '../test/support/stepped-time.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import type { Answer, BenchOptions } from './support/question.ts';

const KILLS = { asked: 100, usual: 20 };
const AWAY_MINUTES = 60;
const STREAMS = 20;
const GRACE_MINUTES = 12;

/** Answers the question above. */
export async function recordingUploads({ long }: BenchOptions): Promise<readonly Answer[]> {
  await using folder = await temporaryFolder();
  return [await killed(folder.path, long), await away(folder.path)];
}

async function killed(folder: string, long: boolean): Promise<Answer> {
  const asked = long ? KILLS.asked : KILLS.usual;
  const { faults, kills, repeatedPuts } = await killUploads(folder, asked);
  return {
    question: `${kills} kills during uploads and deletions${long ? '' : ` (${KILLS.asked} with --long)`}: objects lost, wrong or left over`,
    measured: `${faults.length}`,
    mustReach: '0',
    reached: faults.length === 0,
    details: [`${repeatedPuts} files were put twice, because the answer was lost`, ...faults.slice(0, 3)].join('; '),
  };
}

/** The clock is moved in steps, so that the hour takes some seconds. */
async function away(folder: string): Promise<Answer> {
  const time = new SteppedTime();
  await using server = await startObjectServer(() => time.clock.now());
  await using bucket = (await openBucket(server.settings, time.clock))!;
  const stored = new Set<string>();
  const listener = { stored: (path: string) => void stored.add(path), failing: () => {}, waiting: () => {} };
  const { clock, later } = time;
  await using uploader = new Uploader({ folder, bucket, clock, later, listener });
  const advance = (minutes: number) => time.advance(minutes * MINUTE_MS, () => uploader.idle());
  const recordings = Array.from({ length: STREAMS }, () => new WrittenRecording(folder, ['source', 'audio']));
  server.faultOf = () => ({ type: 'refused', status: 503, code: 'SlowDown' });
  for (let minute = 0; minute < AWAY_MINUTES; minute += 1) {
    for (const recording of recordings) uploader.closed(recording.path, [recording.period()]);
    await advance(1);
  }
  const asked = server.requests.length;
  const kept = recordings.every(({ names }) => names.length === 1 + 3 * AWAY_MINUTES);
  // Slow enough that requests overlap.
  server.faultOf = () => ({ type: 'slow', until: sleep(2) });
  for (const recording of recordings) recording.end();
  for (const { path } of recordings) uploader.ended(path);
  const expected = new Set(recordings.flatMap(({ path, names }) => names.map((name) => `${path}/${name}`)));
  await advance(6 + GRACE_MINUTES);
  const missing = [...expected].filter((name) => !server.objects.has(name)).length;
  const tooMany = [...server.objects.keys()].filter((name) => !expected.has(name)).length;
  const isWell = kept && missing === 0 && tooMany === 0 && stored.size === STREAMS && server.mostAtOnce === 4;
  return {
    question: `bucket away for an hour under ${STREAMS} recordings: files lost, of ${expected.size}`,
    measured: `${missing}, ${tooMany} too many, ${server.mostAtOnce} at once`,
    mustReach: '0, 0, 4 at once',
    reached: isWell,
    details: `${asked} requests in the hour`,
  };
}
