/**
 * Recordings of two server processes on one PostgreSQL and one bucket: both serve them, also when the one that made them is gone, and both
 * may delete them. The tests follow one another: a server records, is killed, and comes back.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DAY_MS } from '#lib/units.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { type MediaPlaylist, readMediaPlaylist } from '../support/hls-playlist.ts';
import { ACCESS_KEY_ID, type ObjectServer, SECRET_ACCESS_KEY, startObjectServer } from '../support/object-server.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { PATIENT } from './cluster-nodes.ts';
import { type Answer, get } from './viewer.ts';

/** The shortest volume that the setting allows. */
const VOLUME_S = 10;
/** Less than the ten seconds by which media may be ahead of the clock, because a server may be held up when the first media comes. */
const AHEAD_MS = 6000;

interface Recording {
  readonly id: string;
  readonly playbackId: string;
  /** Its folder in URLs and in the bucket. */
  readonly path: string;
}

/** The fields of an asset that this test uses. */
interface AssetBody {
  readonly status: { readonly phase: string };
  readonly downloadUrl: string;
  readonly startTime: number;
  readonly endTime: number;
}

/**
 * Sends media like an encoder whose connection was slow: some seconds at once, and the rest in real time. Resolves when the server has read
 * those first seconds.
 */
async function send(client: RtmpClient, mediaS: number, done: () => void): Promise<void> {
  const tags = Array.from({ length: mediaS / 2 }, (_, round) =>
    fixtureTags().map((tag) => ({ ...tag, timestamp: tag.timestamp + 2000 * round })),
  ).flat();
  const sendUntil = (untilMs: number) => {
    while (tags[0] !== undefined && tags[0].timestamp <= untilMs) client.tag(tags.shift()!);
  };
  sendUntil(AHEAD_MS);
  // The session's clock starts when the server reads the first of this media. Later media must not be further ahead of that clock.
  await client.heard();
  const startedAt = performance.now();
  const sending = setInterval(() => {
    sendUntil(performance.now() - startedAt + AHEAD_MS);
    if (tags.length > 0) return;
    clearInterval(sending);
    done();
  }, 50);
}

/** Requests a resource, and a picture until it is drawn: a busy machine may take longer than a server waits for it. */
async function fetched(url: string): Promise<Answer> {
  if (!url.includes('/poster.jpg')) return await get(url);
  const drawn = async () => {
    const answer = await get(url);
    return answer.status === 200 && answer;
  };
  return await waitFor(drawn, { what: 'the picture' });
}

describe('recordings of two servers with one bucket', () => {
  const parts = new AsyncDisposableStack();
  const folders = { one: '', other: '' };
  let postgres: PostgresServer;
  let databaseUrl: string;
  let bucket: ObjectServer;
  let one: ServerProcess;
  let other: ServerProcess;
  /** One runs until its server is killed, one has ended and shows a clip, and one has ended long ago. */
  let running: Recording;
  let clipped: Recording;
  let old: Recording;
  let clipUrl: string;
  let playlist: MediaPlaylist;
  /** What viewers got while both servers lived, by the paths and queries of the URLs. */
  const seen = new Map<string, Buffer>();

  const start = async (name: keyof typeof folders, settings: Readonly<Record<string, string>> = {}) =>
    parts.use(
      await startServerProcess({
        dataDir: folders[name],
        ...(one !== undefined && { apiKey: one.apiKey }),
        settings: {
          ...PATIENT,
          // A publisher that has sent everything keeps its session until the server is killed.
          MILLRACE_RECONNECT_WINDOW_S: '3600',
          MILLRACE_DATABASE_URL: databaseUrl,
          MILLRACE_RECORDINGS_S3_URL: bucket.settings.s3Url!,
          MILLRACE_RECORDINGS_S3_ACCESS_KEY_ID: ACCESS_KEY_ID,
          MILLRACE_RECORDINGS_S3_SECRET_ACCESS_KEY: SECRET_ACCESS_KEY,
          MILLRACE_RECORDINGS_MIN_FREE_MIB: '0',
          MILLRACE_RECORDING_VOLUME_S: String(VOLUME_S),
          ...settings,
        },
      }),
    );
  /** The only server that deletes old recordings. */
  const startOther = () => start('other', { MILLRACE_RECORDING_RETENTION_DAYS: '1' });

  /** Publishes media to the first server, and waits until the other one knows of the recording. */
  const record = async (mediaS: number, { ends }: { readonly ends: boolean }): Promise<Recording> => {
    const stream = await one.api.createStream({ record: true });
    const client = parts.use(await RtmpClient.publish(one.rtmpPort, stream.streamKey));
    await send(client, mediaS, () => ends && client.unpublish(stream.streamKey));
    const session = await waitFor(
      async () => {
        const answer = await other.api.request('GET', `/stream/${stream.id}/sessions?record=1`);
        const [found] = (await answer.json()) as { id: string; recordingUrl?: string }[];
        return found?.recordingUrl === undefined ? undefined : { id: found.id, url: found.recordingUrl };
      },
      { what: 'the recording' },
    );
    return { id: session.id, playbackId: stream.playbackId, path: new URL(session.url).pathname.split('/')[2]! };
  };
  const assetOf = async (server: ServerProcess, { id }: Pick<Recording, 'id'>): Promise<AssetBody> =>
    (await (await server.api.request('GET', `/asset/${id}`)).json()) as AssetBody;
  const isStored = ({ path }: Recording) => bucket.objects.has(`${path}/index`);
  const inBucket = ({ path }: Recording) =>
    [...bucket.objects.keys()].flatMap((name) => (name.startsWith(`${path}/`) ? name.slice(path.length + 1) : []));
  const sourceOf = async (server: ServerProcess, { path }: Recording): Promise<MediaPlaylist | undefined> => {
    const { status, body } = await get(`${server.url}/recordings/${path}/source.m3u8`);
    return status === 200 ? readMediaPlaylist(body.toString()) : undefined;
  };
  const sql = (statement: string) => postgres.query(statement, databaseUrl);
  /** Deletions leave some time for clips that are being created. */
  const deletedLongAgo = ({ id }: Recording) =>
    sql(`update assets set deleted_at = deleted_at - 120000 where id = '${id}'`);
  const clipOf = async ({ playbackId }: Recording, body: object) => {
    const answer = await other.api.request('POST', '/clip', { playbackId, ...body });
    assert.equal(answer.status, 200, await answer.clone().text());
    return ((await answer.json()) as { asset: AssetBody }).asset;
  };

  before(async () => {
    postgres = parts.use(await startPostgres());
    databaseUrl = await postgres.newDatabase();
    bucket = parts.use(await startObjectServer());
    for (const name of ['one', 'other'] as const) {
      const folder = await mkdtemp(join(tmpdir(), 'millrace-e2e-'));
      parts.defer(() => rm(folder, { recursive: true }));
      folders[name] = folder;
    }
    one = await start('one');
    other = await startOther();
    [running, clipped, old] = await Promise.all([
      record(12, { ends: false }),
      record(12, { ends: true }),
      record(2, { ends: true }),
    ]);
  });
  after(() => parts.disposeAsync());

  test('are watched, downloaded and clipped at the other server while they run, with the same bytes', async () => {
    playlist = await waitFor(
      async () => {
        const found = await sourceOf(other, running);
        return found !== undefined && found.segments.length >= 5 && found;
      },
      { what: 'the replay at the other server' },
    );
    assert.equal(playlist.ended, false);
    const from = Date.parse(playlist.segments[0]!.programDateTime!);
    // The store knows nothing of the recording yet, or only its beginning.
    const untilNow = await clipOf(running, { startTime: from });
    const toS = (untilNow.endTime - from) / 1000;
    assert.ok(toS >= 9.9, `the clip has ${toS} s and not all that is recorded by now`);
    const clip = await clipOf(running, { startTime: from + 1000, endTime: from + 7000 });
    const folder = `/recordings/${running.path}`;
    const movie = await get(`${other.url}${folder}/source.mp4`, { redirect: 'manual' });
    assert.equal(movie.status, 307);
    for (const url of [
      ...playlist.segments.map(({ uri }) => `${folder}/${uri}`),
      `${folder}/${playlist.segments[0]!.map}`,
      `${folder}/poster.jpg?at=3`,
      new URL(clip.downloadUrl).pathname,
      `${folder}/${movie.headers.get('location')}`,
    ]) {
      const [here, there] = await Promise.all([fetched(one.url + url), fetched(other.url + url)]);
      assert.deepEqual([here.status, there.status], [200, 200], url);
      assert.ok(here.body.length > 100 && there.body.equals(here.body), url);
      seen.set(url, here.body);
    }
  });

  test('are ready when they end, and their clips are the same at both servers', async () => {
    for (const recording of [clipped, old]) {
      const isReady = async () => isStored(recording) && (await assetOf(other, recording)).status.phase === 'ready';
      await waitFor(isReady, { what: 'the recording in the bucket' });
    }
    const { startTime } = await assetOf(other, clipped);
    const clip = await clipOf(clipped, { startTime: startTime + 2000, endTime: startTime + 4000 });
    clipUrl = new URL(clip.downloadUrl).pathname;
    const [here, there] = await Promise.all([get(one.url + clipUrl), get(other.url + clipUrl)]);
    assert.ok(here.status === 200 && there.body.equals(here.body));
    seen.set(clipUrl, here.body);
  });

  test('play on at the other server when theirs is killed, up to the last volume that was uploaded', async () => {
    await waitFor(() => inBucket(running).includes('index.0'), { what: 'the first volumes in the bucket' });
    await one.kill();
    await sql(`update nodes set lease_until = 0 where url = '${one.url}'`);
    const left = await waitFor(() => sourceOf(other, running), { what: 'the other server to play from the bucket' });
    assert.equal(left.ended, true, 'players wait for nothing more');
    assert.ok(left.segments.length >= 4);
    assert.deepEqual(
      left.segments.map(({ uri }) => uri),
      playlist.segments.slice(0, left.segments.length).map(({ uri }) => uri),
    );
    for (const [url, bytes] of seen) {
      const name = url.split('/').at(-1)!;
      // The MP4 of the whole recording had media that was not uploaded.
      if (name.startsWith('source.mp4?')) continue;
      const isLeft = !name.endsWith('.m4s') || left.segments.some(({ uri }) => url.endsWith(`/${uri}`));
      const { status, body } = await fetched(other.url + url);
      assert.equal(status, isLeft ? 200 : 404, url);
      if (isLeft) assert.ok(body.equals(bytes), url);
    }
    assert.equal((await assetOf(other, running)).status.phase, 'processing');
  });

  test('are deleted and expire at the other server, except what a clip shows', async () => {
    assert.equal((await other.api.request('DELETE', `/asset/${clipped.id}`)).status, 204);
    await deletedLongAgo(clipped);
    await sql(`update assets set ended_at = ended_at - ${2 * DAY_MS} where id = '${old.id}'`);
    await other.stop();
    other = await startOther();
    await waitFor(() => !inBucket(clipped).includes('source.1.mp4'), { what: 'a volume that no clip needs to go' });
    await waitFor(() => !inBucket(clipped).includes('audio.1.mp4'), { what: 'its audio to go' });
    assert.ok(inBucket(clipped).includes('source.0.mp4') && inBucket(clipped).includes('audio.0.mp4'));
    const clip = await get(other.url + clipUrl);
    assert.ok(clip.body.equals(seen.get(clipUrl)!));
    for (const { path } of [clipped, old]) {
      const isGone = async () => (await get(`${other.url}/recordings/${path}/source.mp4`)).status === 404;
      await waitFor(isGone, { what: 'the recording to be gone' });
    }
    await deletedLongAgo(old);
  });

  test('are whole again when the disk of the killed server is back, uploaded once, with nothing left of what was deleted', async () => {
    one = await start('one');
    await waitFor(() => isStored(running), { what: 'the rest in the bucket' });
    await waitFor(async () => (await assetOf(other, running)).status.phase === 'ready', { what: 'the recording' });
    const whole = (await sourceOf(other, running))!;
    assert.equal(whole.ended, true);
    assert.ok(whole.segments.length > playlist.segments.length, `${whole.segments.length} segments`);
    for (const [url, bytes] of seen) assert.ok((await fetched(other.url + url)).body.equals(bytes), url);

    await waitFor(() => inBucket(old).length === 0, { what: 'the old recording to be gone' });
    await waitFor(() => !readdirSync(join(folders.one, 'recordings')).includes(old.path), { what: 'its folder to go' });
    const rows = () => sql(`select 1 from assets where id = '${old.id}' and phase = 'deleted'`);
    await waitFor(async () => (await rows()).length === 1, { what: 'its row to say so' });
    const folder = join(folders.one, 'recordings', clipped.path);
    await waitFor(() => !readdirSync(folder).includes('source.1.mp4'), { what: 'the volume that no clip needs to go' });
    const expected = ['audio.0.mp4', 'audio.1.mp4', 'index', 'manifest.json', 'source.0.mp4', 'source.1.mp4'];
    assert.deepEqual(inBucket(running).sort(), expected);
    const puts = bucket.requests.filter(({ method }) => method === 'PUT').map(({ name }) => name);
    assert.equal(new Set(puts).size, puts.length, 'no file is uploaded twice');
  });
});
