/**
 * Several server processes when one of them is killed, is frozen, comes back, or loses the database.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureTags } from '../support/flv-file.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { publishLoop } from '../support/looped-publisher.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { PATIENT } from './cluster-nodes.ts';
import { broadcast } from './cuts.ts';
import { assertLoaded } from './judge.ts';
import { everyRenditionHasSegment, get, mediaPlaylistUris, watch } from './viewer.ts';

/** Longer than the lease of a node. */
const OUTAGE_MS = 8000;

/** Leases that are taken or renewed from now on last ten minutes more, so that a test decides when one ends. */
const LONG_LEASES = `
  create function prolong_lease() returns trigger language plpgsql as $$
    begin
      new.lease_until := new.lease_until + 600000;
      return new;
    end $$;
  create trigger prolong_lease before insert or update on nodes for each row execute function prolong_lease()`;

const parts = new AsyncDisposableStack();
let postgres: PostgresServer;
let databaseUrl: string;
/** Tests follow one another: the first server is killed for good, and the second one is killed and started again. */
let dying: ServerProcess;
let living: ServerProcess;
let asked: ServerProcess;

const sql = (statement: string) => postgres.query(statement, databaseUrl);
const start = async (options: Parameters<typeof startServerProcess>[0] = {}) =>
  parts.use(
    await startServerProcess({
      ...options,
      settings: { ...PATIENT, MILLRACE_DATABASE_URL: databaseUrl, ...options.settings },
    }),
  );

before(async () => {
  postgres = parts.use(await startPostgres());
  databaseUrl = await postgres.newDatabase();
  dying = await start();
  const { apiKey } = dying;
  [living, asked] = await Promise.all([start({ apiKey }), start({ apiKey })]);
});
after(() => parts.disposeAsync());

describe('several nodes', () => {
  describe('with leases that last', () => {
    before(async () => {
      await sql(LONG_LEASES);
      const areLong = async () =>
        (await sql('select 1 from nodes where lease_until > extract(epoch from now()) * 1000 + 60000')).length === 3;
      await waitFor(areLong, { what: 'long leases' });
    });
    after(() => sql('drop trigger prolong_lease on nodes'));

    test('end the sessions of a killed node, do not affect others, and accept its publishers', async () => {
      await using lost = await broadcast(dying, asked);
      await using kept = await broadcast(living, asked);
      await dying.kill();
      const unreachable = await get(notAskedBefore(lost.playlistUrl));
      assert.equal(unreachable.status, 503);
      assert.equal(unreachable.headers.get('retry-after'), '1');
      assert.equal(unreachable.headers.get('access-control-allow-origin'), '*');
      assert.equal(unreachable.headers.get('cache-control'), 'no-store');
      assert.ok((await asked.api.getStream(lost.stream.id)).isActive, 'not before its lease has run out');

      await sql(`update nodes set lease_until = 0 where url = '${dying.url}'`);
      const isOver = async () => !(await asked.api.getStream(lost.stream.id)).isActive;
      await waitFor(isOver, { what: 'its session to end' });
      const isOffline = async () => (await get(asked.playlistUrl(lost.stream.playbackId))).status === 404;
      await waitFor(isOffline, { what: 'its stream to be offline' });
      assert.equal((await asked.api.getStream(kept.stream.id)).isActive, true);
      assert.equal((await get(kept.playlistUrl)).status, 200);

      await using again = await RtmpClient.publish(living.rtmpPort, lost.stream.streamKey);
      again.tags(fixtureTags());
      const isBack = async () => (await get(asked.playlistUrl(lost.stream.playbackId))).status === 200;
      await waitFor(isBack, { what: 'the stream to be back' });
    });

    test('keep the sessions of a killed node that is back before its lease ends', async () => {
      await using live = await broadcast(living, asked);
      await living.kill();
      const { dataDir, apiKey, httpPort, rtmpPort } = living;
      const settings = { MILLRACE_HTTP_PORT: String(httpPort), MILLRACE_RTMP_PORT: String(rtmpPort) };
      living = await start({ settings, dataDir, apiKey });
      await using client = await RtmpClient.publish(living.rtmpPort, live.stream.streamKey);
      client.tags(fixtureTags());
      const path = new URL(live.playlistUrl).pathname;
      const index = await waitFor(async () => playable(await get(asked.playlistUrl(live.stream.playbackId))), {
        what: 'the stream to be back',
      });
      assert.ok(
        mediaPlaylistUris(index).some((uri) => path.endsWith(uri)),
        'the same session',
      );
      const { segments } = readMediaPlaylist((await get(notAskedBefore(live.playlistUrl))).body.toString());
      assert.ok(segments[0]!.discontinuityNumber > 0);
    });
  });

  test('let a node that was frozen for longer than its lease continue the sessions that no other node has taken over', async () => {
    await using live = await broadcast(living, asked, living.api, { record: true });
    const { stream, client } = live;
    const isActive = async () => (await asked.api.getStream(stream.id)).isActive;
    // The last lease that was prolonged must be renewed by then.
    const isShort = async () =>
      (await sql('select 1 from nodes where lease_until > extract(epoch from now()) * 1000 + 60000')).length === 0;
    await waitFor(isShort, { what: 'leases of the usual length' });
    process.kill(living.pid, 'SIGSTOP');
    await waitFor(async () => !(await isActive()), { what: 'its session to end' });
    const index = () => get(asked.playlistUrl(stream.playbackId));
    await waitFor(async () => (await index()).status === 404, { what: 'its stream to be offline' });

    process.kill(living.pid, 'SIGCONT');
    client.tags(fixtureTags(), 2000);
    await waitFor(isActive, { what: 'its session to go on' });
    await waitFor(async () => (await get(live.playlistUrl)).status === 200, { what: 'its viewers to go on' });
    const sessions = await asked.api.request('GET', `/stream/${stream.id}/sessions`);
    const [session, ...others] = (await sessions.json()) as { readonly id: string }[];
    assert.deepEqual(others, [], 'the same session');
    await asked.api.request('DELETE', `/stream/${stream.id}/terminate`);
    const recording = async () => {
      const answer = await asked.api.request('GET', `/asset/${session!.id}`);
      return (await answer.json()) as { status: { phase: string }; videoSpec: { duration: number } };
    };
    const isReady = async () => {
      const found = await recording();
      return found.status.phase === 'ready' ? found : undefined;
    };
    const { videoSpec } = await waitFor(isReady, { what: 'its recording' });
    const sentS = fixtureTags().at(-1)!.timestamp / 1000;
    assert.ok(videoSpec.duration > sentS + 1, `the recording went on, and has ${videoSpec.duration} s`);
  });

  test('go on for publishers and viewers while the database is away, and catch up', async () => {
    const stream = await living.api.createStream({ name: 'through an outage' });
    await using publisher = await publishLoop(living.rtmpPort, stream.streamKey);
    const urls = [living, asked].map((node) => node.playlistUrl(stream.playbackId));
    for (const url of urls) await waitFor(() => everyRenditionHasSegment(url), { what: 'a segment' });
    const stopped = new AbortController();
    const watching = Promise.all(
      urls.map((url) => watch(url, { signal: stopped.signal, momentEveryMs: 'on_request' })),
    );

    await postgres.stop('crash');
    const refused = await waitFor(async () => unavailable(await asked.api.request('GET', `/stream/${stream.id}`)), {
      what: 'the interface to say that the store is away',
    });
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    await sleep(OUTAGE_MS);
    const sentDuring = Date.now();
    await postgres.start();

    const seen = async () => (await asked.api.getStream(stream.id)).lastSeen > sentDuring;
    await waitFor(() => seen().catch(() => false), { what: 'the store to catch up' });
    // Longer than nodes wait before they end the sessions of a node that seems dead.
    await sleep(OUTAGE_MS);
    assert.equal((await asked.api.getStream(stream.id)).isActive, true);
    assert.equal(publisher.client.isClosed, false);
    stopped.abort();
    for (const watched of await watching) {
      assertLoaded(watched);
      assert.ok(watched.renditions.size === 2);
      for (const { reloads } of watched.renditions.values()) {
        const { segments } = readMediaPlaylist(reloads.at(-1)!.text);
        const lastsS = segments.reduce((sum, { durationS }) => sum + durationS, 0);
        assert.ok(lastsS > (2 * OUTAGE_MS) / 1000, `${lastsS} s were watched`);
        assert.ok(segments.every(({ gap, discontinuityNumber }) => !gap && discontinuityNumber === 0));
      }
    }
    await publisher.stop();
    const isOver = async () => !(await asked.api.getStream(stream.id)).isActive;
    await waitFor(isOver, { what: 'its end' });
    const sessions = await asked.api.request('GET', `/stream/${stream.id}/sessions`);
    assert.equal(((await sessions.json()) as unknown[]).length, 1, 'one session all the while');
  });
});

/** The URL of the playlist with another part number, because a node may send an answer again that it has kept. */
function notAskedBefore(playlistUrl: string): string {
  return playlistUrl.replace('_HLS_part=0', '_HLS_part=1');
}

function playable({ status, body }: { readonly status: number; readonly body: Buffer }): string | undefined {
  return status === 200 ? body.toString() : undefined;
}

function unavailable(response: Response): Response | undefined {
  return response.status === 503 ? response : undefined;
}
