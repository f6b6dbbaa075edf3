/**
 * The disk fills up, the database is lost or slow, or the server is stopped, while a stream is live. Viewers and publishers notice nothing of
 * faults of the store, the API refuses changes with a reason, and everything recovers.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startApp } from '#app.ts';
import { ensureFirstKey } from '#cli/first-key.ts';
import { readConfig } from '#config.ts';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { createFaults, setFault } from '#store/engines/sqlite/faults.ts';
import { openSqlite } from '#store/engines/sqlite.ts';
import { storeOn } from '#store/sql-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { ApiClient, type CreatedStream } from '../support/api-client.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { publishLoop } from '../support/looped-publisher.ts';
import { startPublisher } from '../support/publisher.ts';
import { CHEAP, PATIENT_RTMP, startServerProcess, type TestServer } from '../support/server.ts';
import { CAN_MOUNT, mountSmallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { LONG_HOLDS } from './cluster-nodes.ts';
import { assertLoaded, assertMedia, assertRules } from './judge.ts';
import { type Answer, get, mediaPlaylistUris, startWatching } from './viewer.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/millrace.js');
/** Far longer than anything that the tests wait for takes. */
const TIME_LIMIT_MS = 400_000;
const VIDEO = { width: 320, height: 180, bitrateBps: 400_000 };
/** How long a commit takes on the slow disk, unless the test ends it. */
const COMMIT_MS = 600_000;
/** The number of new playlists of each rendition, each with a new part, that show that media continues. */
const GOES_ON = 3;

const DISK_MB = 6;
/** Root can write to everything except a file system that is mounted read-only. */
const READ_ONLY = {
  skip: CAN_MOUNT || process.getuid?.() !== 0 ? false : 'root may write anywhere, and cannot mount here',
};

/** A fault that a test causes while a server is live, and ends again. */
type Trouble = (live: {
  readonly server: Pick<TestServer, 'api' | 'url'>;
  readonly stream: CreatedStream;
  /** Waits until the viewer has got further parts of every rendition. */
  readonly goesOn: () => Promise<void>;
}) => Promise<void>;

describe('while a stream is live', { concurrency: true }, () => {
  test('a full disk affects only the API, until there is space again', async () => {
    await using disk = await startOnSmallDisk();
    await assertUnnoticed(disk.server, async ({ server: { api }, stream, goesOn }) => {
      disk.fill();
      await waitFor(
        async () => {
          const response = await api.request('POST', '/stream', { name: 'x'.repeat(500), profiles: [] });
          if (response.status === 201) return undefined;
          await assertUnavailable(response);
          return true;
        },
        { what: 'the disk to be full' },
      );
      assert.equal((await api.request('GET', `/stream/${stream.id}`)).status, 200, 'reading needs no space');
      await goesOn();
      disk.free();
      await waitFor(
        async () => (await api.request('POST', '/stream', { name: 'again', profiles: [] })).status === 201,
        {
          what: 'creating to work again',
        },
      );
    });
  });

  test('a database whose files are gone affects only the API', async () => {
    await using parts = new AsyncDisposableStack();
    const dataDir = parts.use(await temporaryFolder()).path;
    const away = `${dataDir}-away`;
    {
      await using server = await startServerProcess({ dataDir });
      await assertUnnoticed(server, async ({ server: { api }, goesOn }) => {
        await rename(dataDir, away);
        const create = () => api.request('POST', '/stream', { name: 'nowhere', profiles: [] });
        const refused = await waitFor(
          async () => {
            const response = await create();
            return response.status !== 201 && response;
          },
          { what: 'creating to be refused' },
        );
        await assertUnavailable(refused);
        await goesOn();
        await rename(away, dataDir);
        await waitFor(async () => (await create()).status === 201, { what: 'creating to work again' });
      });
    }
  });

  test('a disk that takes minutes for a commit delays no part', async () => {
    await using parts = new AsyncDisposableStack();
    const dataDir = parts.use(await temporaryFolder()).path;
    const faults = createFaults();
    const server = await startWithFaults(dataDir, faults, parts);
    await assertUnnoticed(server, async ({ server: { api }, goesOn }) => {
      setFault(faults, 'commitDelayMs', COMMIT_MS);
      const creating = api.request('POST', '/stream', { name: 'slow', profiles: [] });
      const first = await Promise.race([creating.then(() => 'the commit'), goesOn().then(() => 'media')]);
      assert.equal(
        first,
        'media',
        'parts do not wait for the commit, and it is not acknowledged before it is on the disk',
      );
      setFault(faults, 'commitDelayMs', 0);
      assert.equal((await creating).status, 201);
    });
  });

  test('SIGTERM answers held requests, tells the encoder, and ends the server', async () => {
    // With a keyframe every ten seconds, the segment that the request waits for is complete ten seconds later at the earliest.
    await using server = await startServerProcess({ settings: { ...CHEAP, ...LONG_HOLDS } });
    const stream = await server.api.createStream();
    const video = { ...VIDEO, gop: 300 };
    await using publisher = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video });
    const url = await firstMediaPlaylist(server.playlistUrl(stream.playbackId));
    const held = await holdRequest(server, url);
    assert.equal(await server.stop(), 0);
    const answer = await held.answer;
    // Either the session ended first, and the held request gets the end of the playlist, or the server stopped first, and asks to try again.
    if (answer.status === 200) assert.ok(readMediaPlaylist(answer.body.toString()).ended);
    else await assertUnavailable(new Response(answer.body, { status: answer.status, headers: answer.headers }));
    assert.equal((await publisher.ended).reason, 'connection_lost');
  });
});

test(
  'a data folder that cannot be written to is one clear sentence and an exit code of its own',
  READ_ONLY,
  async () => {
    await using parts = new AsyncDisposableStack();
    const dataDir = await readOnlyFolder(parts);
    const child = spawn(process.execPath, [PROGRAM, 'serve'], {
      env: { PATH: process.env.PATH, MILLRACE_DATA_DIR: dataDir, MILLRACE_HTTP_PORT: '0', MILLRACE_RTMP_PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TIME_LIMIT_MS,
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 4);
    assert.match(output, /^[^\n]+ cannot be written to \([^\n]+\); [^\n]+\.\n$/);
  },
);

/**
 * Watches a live stream before, during and after a fault, and asserts that every part comes and every rule is kept.
 */
async function assertUnnoticed(server: FaultyServer, make: Trouble): Promise<void> {
  const stream = await server.api.createStream();
  await using publisher = await publishLoop(server.rtmpPort, stream.streamKey);
  const viewer = startWatching(server.playlistUrl(stream.playbackId), { signal: AbortSignal.timeout(TIME_LIMIT_MS) });
  const goesOn = async () => {
    const before = viewer.reloads;
    const has = () =>
      before.size === viewer.reloads.size &&
      [...viewer.reloads].every(([uri, count]) => count >= before.get(uri)! + GOES_ON);
    await waitFor(has, { what: 'further parts' });
  };
  await firstMediaPlaylist(server.playlistUrl(stream.playbackId));
  await waitFor(() => viewer.reloads.size === 2, { what: 'the viewer to start' });
  await goesOn();
  await make({ server, stream, goesOn });
  await goesOn();
  assert.equal(publisher.client.isClosed, false);
  await publisher.stop();
  const watched = await viewer.watched;
  assertLoaded(watched);
  assertRules(watched);
  for (const viewing of watched.renditions.values()) assertMedia(viewing);
}

async function assertUnavailable(response: Response): Promise<void> {
  assert.equal(response.status, 503);
  assert.ok(Number(response.headers.get('retry-after')) > 0);
  const { errors, code } = (await response.json()) as { errors: string[]; code: string };
  assert.match(code, /^(store_unavailable|shutting_down)$/);
  assert.doesNotMatch(errors.join(), /SQLITE|sqlite|\/tmp\//, 'no inner details');
}

async function firstMediaPlaylist(indexUrl: string): Promise<string> {
  const index = await waitFor(
    async () => {
      const answer = await get(indexUrl);
      return answer.status === 200 && answer;
    },
    { what: 'the first playlist' },
  );
  return new URL(mediaPlaylistUris(index.body.toString())[0]!, indexUrl).href;
}

/** Sends a request for the next segment that the server holds. It is sent again when it is answered before that is seen. */
async function holdRequest(server: TestServer, playlistUrl: string): Promise<{ readonly answer: Promise<Answer> }> {
  for (;;) {
    // A request without directives would be held until the playlist lists two segments.
    const { segments } = readMediaPlaylist((await get(`${playlistUrl}?_HLS_msn=0&_HLS_part=0`)).body.toString());
    let isAnswered = false;
    const answer = get(`${playlistUrl}?_HLS_msn=${segments.at(-1)!.msn + 1}`).finally(() => {
      isAnswered = true;
    });
    const isHeld = async () => isAnswered || /^millrace_held_requests_count 1$/m.test(await metricsOf(server));
    await waitFor(isHeld, { what: 'the request to be held' });
    if (!isAnswered) return { answer };
  }
}

const metricsOf = async ({ metricsUrl }: TestServer): Promise<string> => (await get(metricsUrl)).body.toString();

type FaultyServer = Pick<TestServer, 'api' | 'url' | 'rtmpPort' | 'playlistUrl'>;

/** A server in this process whose disk can be made slow. */
async function startWithFaults(
  dataDir: string,
  faults: ReturnType<typeof createFaults>,
  parts: AsyncDisposableStack,
): Promise<FaultyServer> {
  const config = readConfig({
    MILLRACE_HTTP_HOST: '127.0.0.1',
    MILLRACE_HTTP_PORT: '0',
    MILLRACE_RTMP_HOST: '127.0.0.1',
    MILLRACE_RTMP_PORT: '0',
    MILLRACE_METRICS_PORT: '0',
    MILLRACE_DATA_DIR: dataDir,
    ...PATIENT_RTMP,
  });
  const limits = { readTimeoutMs: 60_000, writeTimeoutMs: COMMIT_MS, maxPending: 4096, closeTimeoutMs: 60_000 };
  const engine = {
    ...limits,
    dataDir,
    databaseUrl: undefined,
    exclusive: true,
    clock: systemClock,
    logger: silentLogger,
  };
  const store = parts.use(storeOn(await openSqlite(engine, faults), silentLogger));
  const key = 'a key for one test, of forty characters.';
  const bootstrapKey = new Secret(key);
  const common = { store, clock: systemClock, logger: silentLogger };
  await ensureFirstKey({ ...common, dataDir, terminal: undefined, bootstrapKey });
  const { addresses } = parts.use(await startApp(config, { ...common, metrics: createMetrics() }));
  const url = `http://127.0.0.1:${addresses.http.port}`;
  return {
    url,
    api: new ApiClient(`${url}/api`, key),
    rtmpPort: addresses.ingest[0]!.port,
    playlistUrl: (playbackId) => `${url}/hls/${playbackId}/index.m3u8`,
  };
}

/** A server on a disk that can be filled: a real file system where this process may mount one, otherwise a limit that looks full to SQLite. */
async function startOnSmallDisk(): Promise<AsyncDisposable & { server: FaultyServer; fill(): void; free(): void }> {
  await using parts = new AsyncDisposableStack();
  if (CAN_MOUNT) {
    const dataDir = parts.use(await temporaryFolder()).path;
    const disk = parts.use(mountSmallDisk(dataDir, DISK_MB));
    const server = parts.use(await startServerProcess({ dataDir }));
    const running = parts.move();
    return {
      server,
      fill: () => disk.fill(),
      free: () => disk.free(),
      [Symbol.asyncDispose]: () => running.disposeAsync(),
    };
  }
  const dataDir = parts.use(await temporaryFolder()).path;
  const faults = createFaults();
  const server = await startWithFaults(dataDir, faults, parts);
  const running = parts.move();
  return {
    server,
    fill: () => setFault(faults, 'maxPages', 1),
    free: () => setFault(faults, 'maxPages', 0),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function readOnlyFolder(parts: AsyncDisposableStack): Promise<string> {
  if (CAN_MOUNT) {
    const folder = parts.use(await temporaryFolder()).path;
    parts.use(mountSmallDisk(folder, DISK_MB));
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    return folder;
  }
  const folder = parts.use(await temporaryFolder()).path;
  await chmod(folder, 0o500);
  return folder;
}
