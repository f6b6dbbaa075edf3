/**
 * How long do a list page of 10,000 clips, and clips that 100 clients make at once of a recording, take?
 */
import { type AssetId, newMediaPath, type StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { SOME_EXTENT, someClip, someReceipt, someSession } from '../test/support/sample-records.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { LeanConnection, requestHead } from './support/lean-http.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { percentile } from './support/statistics.ts';

const CLIPS = 10_000;
const BATCH = 500;
const LISTS = 500;
const AT_ONCE = 100;
const ROUNDS = 10;

/** Answers the question above. */
export async function assetsMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { ...MEASURED, MILLRACE_QUOTA_CLIPS: '0' } });
  const { playbackId } = await fill(server);
  const authorization = `Bearer ${server.apiKey}`;
  using connections = new DisposableStack();
  const clients: LeanConnection[] = [];
  for (let count = 0; count < AT_ONCE; count += 1) {
    clients.push(connections.use(await LeanConnection.open(server.httpPort)));
  }

  const listMs: number[] = [];
  for (let round = -50; round < LISTS; round += 1) {
    const query = round % 2 === 0 ? '' : '&phase=ready';
    const took = await timed(() => clients[0]!.get(`/api/asset?limit=100${query}`, { authorization }));
    if (round >= 0) listMs.push(took);
  }

  const body = JSON.stringify({
    playbackId,
    startTime: SOME_EXTENT.fromMs! + 1000,
    endTime: SOME_EXTENT.fromMs! + 9000,
  });
  const headers = { authorization, 'content-type': 'application/json', 'content-length': String(body.length) };
  const head = requestHead('POST', '/api/clip', headers);
  const clipMs: number[] = [];
  for (let round = -2; round < ROUNDS; round += 1) {
    const tookMs = await Promise.all(clients.map((client) => timed(() => client.request(head, body))));
    if (round >= 0) clipMs.push(...tookMs);
  }
  return [
    atMost('`GET /asset?limit=100` of 10,000, p95', percentile(listMs, 0.95), 5, 'ms'),
    atMost('`POST /clip`, 100 at once, p95', percentile(clipMs, 0.95), 50, 'ms'),
  ];
}

async function timed(request: () => Promise<{ readonly status: number; readonly body: Buffer }>): Promise<number> {
  const started = performance.now();
  const { status, body } = await request();
  if (status !== 200) throw new Error(`${status}: ${body.toString()}`);
  return performance.now() - started;
}

/** Stores a recording and its clips beside the server. */
async function fill(server: TestServer) {
  const { id } = await server.api.createStream({ record: true });
  await using store = await openStore({ dataDir: server.dataDir, exclusive: false, logger: silentLogger });
  const stream = (await store.streams.get(id as StreamId, 'everyone'))!;
  const ended = { phase: 'ended', endedAt: ms(SOME_EXTENT.untilMs!), endReason: 'unpublished' } as const;
  const session = someSession(stream, { ...ended, recordingPath: newMediaPath() });
  await store.sessions.create(session);
  const recording = session.id as string as AssetId;
  await store.assets.finish(recording, SOME_EXTENT, ms(SOME_EXTENT.untilMs!));
  for (let made = 0; made < CLIPS; made += BATCH) {
    const clips = Array.from({ length: BATCH }, (_, index) => someClip(session, { createdAt: ms(made + index) }));
    await Promise.all(clips.map((clip) => store.assets.createClip(clip, recording, someReceipt())));
  }
  return stream;
}
