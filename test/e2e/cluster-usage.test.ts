/**
 * Tests the usage that two server processes on one PostgreSQL count for a broadcast that moves from one to the other while viewers stay at
 * both, and for its recording.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from '#lib/pause.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { startPostgres } from '../support/postgres.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { PATIENT } from './cluster-nodes.ts';
import { broadcast } from './cuts.ts';
import { get } from './viewer.ts';

/** A viewer that pauses for longer than this may be another view. */
const MAY_HAVE_LEFT_MS = 9000;

/** The fields of an asset that this test uses. */
interface AssetBody {
  readonly createdAt: number;
  readonly downloadUrl: string;
  readonly status: { readonly phase: string };
}

/** Requests a playlist again and again, as one viewer, until stopped. */
function stay(url: string, name: string) {
  const headers = { 'user-agent': name };
  let isOver = false;
  let pauses = 0;
  let rounds = 0;
  const staying = (async () => {
    for (let askedAt = performance.now(); !isOver; rounds += 1) {
      await get(url, { headers }).catch(() => undefined);
      if (performance.now() - askedAt > MAY_HAVE_LEFT_MS) pauses += 1;
      askedAt = performance.now();
      await pause(100);
    }
  })();
  return {
    rounds: () => rounds,
    /** @returns how often a busy machine made the viewer pause for so long that it may count again */
    leave: async () => {
      isOver = true;
      await staying;
      return pauses;
    },
  };
}

test('viewers who stay while a broadcast moves are one view each, and what is sent of its recording counts', async () => {
  await using parts = new AsyncDisposableStack();
  const postgres = parts.use(await startPostgres());
  const databaseUrl = await postgres.newDatabase();
  const settings = { ...PATIENT, MILLRACE_DATABASE_URL: databaseUrl };
  const one = parts.use(await startServerProcess({ settings }));
  const other = parts.use(await startServerProcess({ settings, apiKey: one.apiKey }));
  // Whoever waits for the broadcast to begin is a viewer, too.
  const live = parts.use(await broadcast(one, other, one.api, { record: true }));
  const { playbackId, streamKey } = live.stream;
  const viewers = [one, other].map((server) => stay(server.playlistUrl(playbackId), `viewer of ${server.url}`));
  const goOn = async () => {
    const before = viewers.map(({ rounds }) => rounds());
    await waitFor(() => viewers.every(({ rounds }, index) => rounds() > before[index]! + 20), { what: 'the viewers' });
  };
  await goOn();
  live.client.drop();
  const publish = () => RtmpClient.publish(other.rtmpPort, streamKey).catch(() => undefined);
  const second = parts.use(await waitFor(publish, { what: 'the other server to accept the encoder' }));
  second.tags(fixtureTags());
  const sessionPath = new URL(live.playlistUrl).pathname.split('/').at(-2)!;
  const isMoved = async () => {
    const index = await get(one.playlistUrl(playbackId), { headers: { 'user-agent': `viewer of ${one.url}` } });
    return index.status === 200 && !index.body.includes(sessionPath);
  };
  await waitFor(isMoved, { what: 'the first server to show the new session' });
  await goOn();
  const pauses = (await Promise.all(viewers.map(({ leave }) => leave()))).reduce((sum, each) => sum + each, 0);

  const isReady = async () => {
    const assets = (await (await one.api.request('GET', '/asset')).json()) as readonly AssetBody[];
    const [first] = assets.toSorted((a, b) => a.createdAt - b.createdAt);
    return first?.status.phase === 'ready' && first.downloadUrl;
  };
  const mp4Url = (await waitFor(isReady, { what: 'the recording of the first session' })).replace(one.url, other.url);
  const folder = new URL('.', mp4Url).href;
  const headers = { 'user-agent': 'a viewer of the replay' };
  const mp4 = await get(mp4Url, { headers });
  await get(`${folder}index.m3u8`, { headers });
  const { segments } = readMediaPlaylist((await get(`${folder}source.m3u8`, { headers })).body.toString());
  const segment = await get(`${folder}${segments[0]!.uri}`, { headers });
  assert.deepEqual([mp4.status, segment.status], [200, 200]);
  for (const server of [one, other]) await server.stop();

  const columns = 'sum(views)::int as views, sum(delivered_bytes)::int as bytes';
  // Only this stream counts: a broadcast that was interrupted by a busy machine has begun again with another stream.
  const ofStream = `from usage_hours where stream_id = '${live.stream.id}'`;
  const [usage] = await postgres.query(`select ${columns} ${ofStream}`, databaseUrl);
  const { views, bytes } = usage as { readonly views: number; readonly bytes: number };
  assert.equal(bytes, mp4.body.length + segment.body.length);
  assert.ok(views >= 4 && views <= 4 + pauses, `${views} views, and ${pauses} long pauses`);
});
