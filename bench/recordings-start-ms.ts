/**
 * How much longer does a server take to start with 10,000 recordings, all of which still have to be uploaded?
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AssetId, newMediaPath } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { SOME_EXTENT, someReceipt, someSession, someStream, someUser } from '../test/support/sample-records.ts';
import { startServerProcess } from '../test/support/server.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { inRounds } from './support/statistics.ts';

const RECORDINGS = 10_000;
const BATCH = 500;
const ROUNDS = 5;
/** A bucket that refuses every connection, so that all recordings still have to be uploaded. */
const SETTINGS = {
  ...MEASURED,
  MILLRACE_RECORDINGS_S3_URL: 'http://127.0.0.1:1/bucket',
  MILLRACE_RECORDINGS_S3_ACCESS_KEY_ID: 'AKIDOFTHEBENCH',
  MILLRACE_RECORDINGS_S3_SECRET_ACCESS_KEY: 'secret-of-the-bench',
};

/** Answers the question above. */
export async function recordingsStartMs(): Promise<readonly Answer[]> {
  await using empty = await temporaryFolder();
  await using full = await temporaryFolder();
  await startMs(empty.path);
  await startMs(full.path);
  await fill(full.path);
  const { without, withAll } = await inRounds(ROUNDS, {
    without: () => startMs(empty.path),
    withAll: () => startMs(full.path),
  });
  const question = 'start with 10,000 recordings in the folder, longer than without';
  return [{ ...atMost(question, withAll - without, 1000, 'ms'), details: `${show(without)} ms without` }];
}

/** Returns the time until the server answers on all ports. */
async function startMs(dataDir: string): Promise<number> {
  const startedAt = performance.now();
  await using server = await startServerProcess({ dataDir, settings: SETTINGS });
  const tookMs = performance.now() - startedAt;
  await server.stop();
  return tookMs;
}

/** Stores recordings, with small files. */
async function fill(dataDir: string): Promise<void> {
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  const stream = someStream((await store.users.ensure(someUser())).id, { record: true });
  await store.streams.create(stream, someReceipt());
  const ended = { phase: 'ended', endedAt: ms(SOME_EXTENT.untilMs!), endReason: 'unpublished' } as const;
  for (let made = 0; made < RECORDINGS; made += BATCH) {
    const sessions = Array.from({ length: BATCH }, () =>
      someSession(stream, { ...ended, recordingPath: newMediaPath() }),
    );
    await Promise.all(sessions.map((session) => store.sessions.create(session)));
    await Promise.all(
      sessions.map(({ id }) => store.assets.finish(id as string as AssetId, SOME_EXTENT, ended.endedAt)),
    );
    for (const { id, recordingPath } of sessions) {
      const folder = join(dataDir, 'recordings', recordingPath!);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ version: 1, sessionId: id }));
      writeFileSync(join(folder, 'index'), 'an index');
      for (const name of ['source.0.mp4', 'audio.0.mp4']) writeFileSync(join(folder, name), 'a volume');
    }
  }
}
