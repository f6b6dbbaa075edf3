/**
 * Two server processes on one PostgreSQL: any of them takes a request, whichever has the publisher.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fixtureTags } from '../support/flv-file.ts';
import type { MediaPlaylist } from '../support/hls-playlist.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { LONG_HOLDS, PATIENT } from './cluster-nodes.ts';
import { assertCut, type Broadcast, broadcast, CUTS } from './cuts.ts';
import { holdRequests } from './held-requests.ts';
import { type Answer, get, nextDirectives } from './viewer.ts';

let postgres: PostgresServer;
let databaseUrl: string;
let one: ServerProcess;
let other: ServerProcess;

before(async () => {
  postgres = await startPostgres();
  databaseUrl = await postgres.newDatabase();
  const settings = { ...PATIENT, ...LONG_HOLDS, MILLRACE_DATABASE_URL: databaseUrl };
  one = await startServerProcess({ settings });
  other = await startServerProcess({ settings, apiKey: one.apiKey });
});
after(async () => {
  await one?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
});

describe('a stream published to one node', () => {
  for (const cut of CUTS) {
    test(`loses its publisher when another node is told that it is ${cut.what}`, () => assertCut(cut, one, other));
  }

  test('is played by another node, byte for byte, including ranges, validators and compression', async () => {
    await using live = await broadcast(one, other);
    const here = (url: string) => url.replace(other.url, one.url);
    const playlist = await get(live.playlistUrl, { headers: { 'accept-encoding': 'identity' } });
    const uri = /URI="([^"]*init[^"]*)"/.exec(playlist.body.toString())![1]!;
    const initUrl = new URL(uri, live.playlistUrl).href;
    for (const [url, headers] of [
      [initUrl, {}],
      [initUrl, { range: 'bytes=2-5' }],
      [initUrl, { range: 'bytes=999999-' }],
      [initUrl, { 'if-none-match': `"${uri.split('/').at(-1)}"` }],
      [live.playlistUrl, { 'accept-encoding': 'gzip' }],
      [live.playlistUrl, { 'accept-encoding': 'identity' }],
      [live.playlistUrl.replace('_HLS_msn=0&_HLS_part=0', '_HLS_msn=999'), {}],
      [initUrl.replace('init-0', 'init-9'), {}],
      [other.playlistUrl(live.stream.playbackId).replace('index.m3u8', 'thumbnail.jpg'), {}],
    ] as const) {
      const [direct, through] = await whileSteady(
        () => get(here(url), { headers }),
        () => get(url, { headers }),
      );
      assert.equal(through.status, direct.status, url);
      assert.deepEqual(withoutMoment(through.headers), withoutMoment(direct.headers), url);
      if (direct.status < 400) assert.ok(through.body.equals(direct.body), url);
    }
    const head = await get(initUrl, { method: 'HEAD' });
    assert.deepEqual([head.status, head.body.length], [200, 0]);
    assert.ok(Number(head.headers.get('content-length')) > 100);
  });

  test('has its blocking reloads held through another node, and ended when their viewer leaves', async () => {
    await using live = await broadcast(one, other);
    const leaving = new AbortController();
    const hold = (signal?: AbortSignal) =>
      holdRequests(
        live,
        (playlist) => [get(urlOfNext(live, playlist), signal && { signal })],
        async () => (await isHeldBy(one)) && (await isHeldBy(other)),
      );
    const isHeldBy = async (server: ServerProcess) => (await heldRequests(server)) === 1;
    const left = await hold(leaving.signal);
    leaving.abort();
    await assert.rejects(left.answers);
    await waitFor(async () => !(await isHeldBy(one)) && !(await isHeldBy(other)), { what: 'both to let it go' });

    const staying = await hold();
    live.sendMore();
    assert.deepEqual(
      (await staying.answers).map(({ status }) => status),
      [200],
    );
  });

  test('is requested once by another node for all waiting viewers, who are all counted', async () => {
    await using live = await broadcast(one, other);
    const viewers = Array.from({ length: 50 }, (_, viewer) => ({ headers: { 'user-agent': `viewer ${viewer}` } }));
    const askNext = (playlist: MediaPlaylist) => {
      const next = urlOfNext(live, playlist);
      const hint = new URL(playlist.hints.find((each) => each.get('TYPE') === 'PART')!.get('URI')!, next).href;
      return viewers.flatMap((viewer) => [get(next, viewer), get(hint, viewer)]);
    };
    // The owner holds one request for the playlist and one for the part.
    const areHeld = async () => (await heldRequests(other)) === 100 && (await heldRequests(one)) === 2;
    const waiting = await holdRequests(live, askNext, areHeld);
    live.sendMore();
    for (const { status } of await waiting.answers) assert.equal(status, 200);
    // All viewers send another request, by which the owner learns of those that came during the first one. They repeat it, because a viewer
    // counts for ten seconds only. The broadcast has one more viewer of its own.
    await waitFor(
      async () => {
        await Promise.all([{}, ...viewers].map((viewer) => get(live.playlistUrl, viewer)));
        const views = await one.api.request('GET', `/data/views/now?playbackId=${live.stream.playbackId}`);
        return ((await views.json()) as { viewCount: number }[])[0]?.viewCount === 51;
      },
      { what: 'the owner to count them all' },
    );
  });

  test('counts a viewer once, whichever node it asks, and does not trust clients that pretend to be a node', async () => {
    await using live = await broadcast(one, other);
    const viewersAt = async (server: ServerProcess) => {
      const views = await server.api.request('GET', `/data/views/now?playbackId=${live.stream.playbackId}`);
      return ((await views.json()) as { viewCount: number }[])[0]?.viewCount;
    };
    const isCounted = async () => {
      await get(one.playlistUrl(live.stream.playbackId));
      return (await viewersAt(one)) === 1;
    };
    await waitFor(isCounted, { what: 'the viewer' });
    for (const name of ['a', 'b']) {
      const forged = { 'user-agent': 'a third', 'x-millrace-viewers': `${name.repeat(12)}.${'a'.repeat(43)}` };
      await get(one.playlistUrl(live.stream.playbackId), { headers: forged });
    }
    assert.equal(await viewersAt(one), 2);
    await waitFor(async () => (await viewersAt(other)) === 2, { what: 'the other node to know of the viewers' });
  });

  test('refuses a second publisher on another node, and accepts it when the first has been silent', async () => {
    await using live = await broadcast(one, other);
    const { stream, client } = live;
    const speaking = setInterval(() => client.tag(fixtureTags()[0]!), 500);
    // While the machine stood still, the first node may have released the stream because the client was silent.
    client.tag(fixtureTags()[0]!);
    await client.heard();
    const owners = `select 1 from publishers join nodes on nodes.id = publishers.node_id
      where publishers.stream_id = '${stream.id}' and publishers.connected = 1 and nodes.url = '${one.url}'`;
    const isClaimed = async () => (await postgres.query(owners, databaseUrl)).length === 1;
    await waitFor(isClaimed, { what: 'the first node to have the stream' });
    const publish = () => RtmpClient.publish(other.rtmpPort, stream.streamKey);
    await assert.rejects(
      publish(),
      (error) => error instanceof RtmpRefusedError && /in use/.test(error.status.description),
    );
    clearInterval(speaking);
    await using second = await waitFor(() => publish().catch(() => undefined), { what: 'the takeover' });
    await client.closed();
    second.tags(fixtureTags());
    await waitFor(async () => (await sessions(other, stream)).length === 2, { what: 'a session at the other node' });
    await waitFor(async () => (await get(one.playlistUrl(stream.playbackId))).status === 200, {
      what: 'the new session',
    });
  });

  test('whose publisher went to another node continues there in a new session, watched from the first', async () => {
    await using live = await broadcast(one, one);
    live.client.drop();
    const { stream } = live;
    const publish = () => RtmpClient.publish(other.rtmpPort, stream.streamKey).catch(() => undefined);
    await using second = await waitFor(publish, { what: 'the other node to accept it' });
    second.tags(fixtureTags());
    const isMoved = async () => {
      const index = await get(one.playlistUrl(stream.playbackId));
      return index.status === 200 && !index.body.includes(new URL(live.playlistUrl).pathname.split('/').at(-2)!);
    };
    await waitFor(isMoved, { what: 'the first node to show the new session' });
    const isActive = async () => (await one.api.getStream(stream.id)).isActive;
    await waitFor(isActive, { what: 'the first node to tell that it is active' });
  });
});

/**
 * Sends a request before and after another one until the answers before and after it are equal, because answers may change with time.
 * @returns the answer before the other one, and the other one
 */
function whileSteady(ask: () => Promise<Answer>, askBetween: () => Promise<Answer>): Promise<[Answer, Answer]> {
  const asked = async (): Promise<[Answer, Answer] | undefined> => {
    const [before, between, after] = [await ask(), await askBetween(), await ask()];
    const isSteady = before.status === after.status && (before.status >= 400 || before.body.equals(after.body));
    // A node answers 503 when it cannot connect to the other within its timeout.
    return isSteady && between.status !== 503 ? [before, between] : undefined;
  };
  return waitFor(asked, { what: 'an answer while the stream stays as it is' });
}

/** The URL at which a viewer waits for what comes after a playlist. */
const urlOfNext = ({ playlistUrl }: Broadcast, playlist: MediaPlaylist): string =>
  `${playlistUrl.split('?')[0]}?${nextDirectives(playlist)}`;

/** The content of an answer without its time and without headers about the connection. */
function withoutMoment(headers: Headers): Record<string, string> {
  const {
    date: _date,
    connection: _connection,
    'keep-alive': _alive,
    'x-request-id': _id,
    ...rest
  } = Object.fromEntries(headers);
  const { 'content-length': length, ...others } = rest;
  // An error contains the id of its request.
  return others['content-type']?.startsWith('application/json')
    ? others
    : { ...others, 'content-length': length ?? '' };
}

/** How many requests a server holds. */
async function heldRequests({ metricsUrl }: ServerProcess): Promise<number> {
  const { body } = await get(metricsUrl);
  return Number(/^millrace_held_requests_count (\d+)$/m.exec(body.toString())?.[1]);
}

async function sessions(server: ServerProcess, { id }: { readonly id: string }): Promise<readonly { id: string }[]> {
  const response = await server.api.request('GET', `/stream/${id}/sessions`);
  return (await response.json()) as { id: string }[];
}
