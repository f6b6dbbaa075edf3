/**
 * Several server processes when one of them is killed, is frozen, comes back, or loses the database.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureTags } from '../support/flv-file.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { startPublisher } from '../support/publisher.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { broadcast } from './cuts.ts';
import { everyRenditionHasSegment, get, mediaPlaylistUris, watch } from './viewer.ts';

/** How long the sessions of a dead node may stay active in the store. */
const WITHIN_FIFTEEN_SECONDS = { timeoutMs: 15_000 };
/** A node that is back within this time still has its lease, whenever it renewed it last. */
const SURELY_IN_TIME_MS = 4000;
/** Longer than the lease of a node. */
const OUTAGE_MS = 8000;

const parts = new AsyncDisposableStack();
let postgres: PostgresServer;
before(async () => {
  postgres = parts.use(await startPostgres());
});
after(() => parts.disposeAsync());

/** Starts a number of servers on a database of their own. */
interface Nodes extends AsyncDisposable {
  readonly nodes: readonly [ServerProcess, ServerProcess, ...ServerProcess[]];
  readonly databaseUrl: string;
}

async function startNodes(count: number, on = postgres): Promise<Nodes> {
  const databaseUrl = await on.newDatabase();
  const settings = { MILLRACE_DATABASE_URL: databaseUrl };
  const nodes: ServerProcess[] = [await startServerProcess({ settings })];
  while (nodes.length < count) nodes.push(await startServerProcess({ settings, apiKey: nodes[0]!.apiKey }));
  const [one, other, ...more] = nodes;
  return {
    nodes: [one!, other!, ...more],
    databaseUrl,
    [Symbol.asyncDispose]: async () => void (await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))),
  };
}

describe('several nodes', { concurrency: 2 }, () => {
  test('end the sessions of a killed node, do not affect others, and accept its publishers', async () => {
    await using cluster = await startNodes(3);
    const [dying, living, third] = cluster.nodes;
    const asked = third!;
    await using lost = await broadcast(dying, asked);
    await using kept = await broadcast(living, asked);
    await dying.kill();
    const unreachable = await get(notAskedBefore(lost.playlistUrl));
    assert.equal(unreachable.status, 503);
    assert.equal(unreachable.headers.get('retry-after'), '1');
    assert.equal(unreachable.headers.get('access-control-allow-origin'), '*');
    assert.equal(unreachable.headers.get('cache-control'), 'no-store');
    assert.ok((await asked.api.getStream(lost.stream.id)).isActive, 'not before its lease has run out');

    const isOver = async () => !(await asked.api.getStream(lost.stream.id)).isActive;
    await waitFor(isOver, { what: 'its session to end', ...WITHIN_FIFTEEN_SECONDS });
    const isOffline = async () => (await get(asked.playlistUrl(lost.stream.playbackId))).status === 404;
    await waitFor(isOffline, { what: 'its stream to be offline' });
    assert.equal((await asked.api.getStream(kept.stream.id)).isActive, true);
    assert.equal((await get(kept.playlistUrl)).status, 200);

    await using again = await RtmpClient.publish(living.rtmpPort, lost.stream.streamKey);
    again.tags(fixtureTags());
    const isBack = async () => (await get(asked.playlistUrl(lost.stream.playbackId))).status === 200;
    await waitFor(isBack, { what: 'the stream to be back' });
  });

  test('find a killed node that is back in time with its sessions', async (t) => {
    // A busy machine may take longer to start a server than the lease lasts, which says nothing.
    while (!(await isBackInTime())) t.diagnostic('the node was not back before its lease ended');
  });

  /** Kills a node and starts it again. Returns false when its lease had ended by then. */
  async function isBackInTime(): Promise<boolean> {
    await using cluster = await startNodes(2);
    const [first, other] = cluster.nodes;
    await using live = await broadcast(first, other);
    const killedAt = performance.now();
    await first.kill();
    const { dataDir, apiKey, httpPort, rtmpPort } = first;
    const settings = {
      MILLRACE_DATABASE_URL: cluster.databaseUrl,
      MILLRACE_HTTP_PORT: String(httpPort),
      MILLRACE_RTMP_PORT: String(rtmpPort),
    };
    await using second = await startServerProcess({ settings, dataDir, apiKey });
    await using client = await RtmpClient.publish(second.rtmpPort, live.stream.streamKey);
    const tookMs = performance.now() - killedAt;
    client.tags(fixtureTags());
    const path = new URL(live.playlistUrl).pathname;
    const index = await waitFor(async () => playable(await get(other.playlistUrl(live.stream.playbackId))), {
      what: 'the stream to be back',
    });
    const isSameSession = mediaPlaylistUris(index).some((uri) => path.endsWith(uri));
    if (!isSameSession && tookMs > SURELY_IN_TIME_MS) return false;
    assert.ok(isSameSession, 'the same session');
    const { segments } = readMediaPlaylist((await get(notAskedBefore(live.playlistUrl))).body.toString());
    assert.ok(segments[0]!.discontinuityNumber > 0);
    return true;
  }

  test('let a node that was frozen for longer than its lease continue the sessions that no other node has taken over', async () => {
    await using cluster = await startNodes(2);
    const [frozen, other] = cluster.nodes;
    await using live = await broadcast(frozen, other);
    const { stream, client } = live;
    const isActive = async () => (await other.api.getStream(stream.id)).isActive;
    process.kill(frozen.pid, 'SIGSTOP');
    await waitFor(async () => !(await isActive()), { what: 'its session to end', ...WITHIN_FIFTEEN_SECONDS });
    const index = () => get(other.playlistUrl(stream.playbackId));
    await waitFor(async () => (await index()).status === 404, { what: 'its stream to be offline' });

    process.kill(frozen.pid, 'SIGCONT');
    client.tags(fixtureTags(), 2000);
    await waitFor(isActive, { what: 'its session to go on' });
    await waitFor(async () => (await get(live.playlistUrl)).status === 200, { what: 'its viewers to go on' });
    const sessions = await other.api.request('GET', `/stream/${stream.id}/sessions`);
    assert.equal(((await sessions.json()) as unknown[]).length, 1, 'the same session');
  });

  test('go on for publishers and viewers while the database is away, and catch up', async () => {
    // A PostgreSQL of its own, because other tests need theirs at the same time.
    await using database = await startPostgres();
    await using cluster = await startNodes(2, database);
    const [first, other] = cluster.nodes;
    const stream = await first.api.createStream({ name: 'through an outage' });
    await using publisher = await startPublisher({ url: first.rtmpUrl(stream.streamKey) });
    const urls = [first, other].map((node) => node.playlistUrl(stream.playbackId));
    for (const url of urls) await waitFor(() => everyRenditionHasSegment(url), { what: 'a segment' });
    const stopped = new AbortController();
    const watching = Promise.all(urls.map((url) => watch(url, { signal: stopped.signal })));

    await database.stop('crash');
    const refused = await waitFor(async () => unavailable(await other.api.request('GET', `/stream/${stream.id}`)), {
      what: 'the interface to say that the store is away',
    });
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    await sleep(OUTAGE_MS);
    const sentDuring = Date.now();
    await database.start();

    const seen = async () => (await other.api.getStream(stream.id)).lastSeen > sentDuring;
    await waitFor(() => seen().catch(() => false), { what: 'the store to catch up', timeoutMs: 30_000 });
    // Longer than nodes wait before they end the sessions of a node that seems dead.
    await sleep(OUTAGE_MS);
    assert.equal((await other.api.getStream(stream.id)).isActive, true);
    stopped.abort();
    for (const { renditions, failures } of await watching) {
      assert.deepEqual(failures, []);
      for (const { reloads } of renditions.values()) {
        const { segments } = readMediaPlaylist(reloads.at(-1)!.text);
        assert.ok(segments.every(({ gap, discontinuityNumber }) => !gap && discontinuityNumber === 0));
      }
    }
    assert.equal((await publisher.stop()).reason, 'stopped');
    const isOver = async () => !(await other.api.getStream(stream.id)).isActive;
    await waitFor(isOver, { what: 'its end' });
    const sessions = await other.api.request('GET', `/stream/${stream.id}/sessions`);
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
