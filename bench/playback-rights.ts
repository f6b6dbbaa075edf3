/**
 * What does a playback policy cost: server CPU for each playlist, and hits of a cache for segments?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startNginx } from '../test/e2e/nginx.ts';
import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { signToken } from '../test/support/playback-rights.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { type Broadcast, broadcast } from './support/broadcast.ts';
import { LeanConnection, type LeanResponse, requestHead } from './support/lean-http.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMostTimes, show } from './support/question.ts';
import { playlistNames } from './support/rendition-reader.ts';
import { MEASURED } from './support/settings.ts';
import { inRounds } from './support/statistics.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 300_000 };
const KNOWN_REQUESTS = 20_000;
const NEW_VIEWERS = 600;
/** Segments of each rendition that a new viewer loads before it plays. */
const FIRST_SEGMENTS = 3;
const ROUNDS = 5;
const CONNECTIONS = 10;
const VIEWERS = 100;
const WATCHED_S = 20;
const MUST_HIT_PERCENT = 98;

/** Answers the question above. */
export async function playbackRights(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { ...MEASURED, MILLRACE_TRUSTED_PROXIES: 'loopback' } });
  await using open = await publish(server);
  await using restricted = await publish(server, { type: 'jwt' });
  const key = (await (await server.api.request('POST', '/access-control/signing-key', {})).json()) as Record<
    string,
    string
  >;
  const sign = (viewer: number) =>
    signToken(key.privateKey!, key.publicKey!, { sub: restricted.playbackId, exp: Date.now() / 1000 + 3600, viewer });

  const openIndex = `/hls/${open.playbackId}/index.m3u8`;
  const index = `/hls/${restricted.playbackId}/index.m3u8`;
  const token = await sign(0);
  const openPlaylist = await videoPlaylist(server, openIndex);
  const playlist = await videoPlaylist(server, `${index}?jwt=${token}`);
  const known = await compare(server, KNOWN_REQUESTS, [(get) => get(openPlaylist), (get) => get(playlist)]);

  const tokens: string[] = [];
  // One after another, because the publishers are in this process and must not fall silent.
  while (tokens.length < NEW_VIEWERS * (ROUNDS + 1)) tokens.push(await sign(tokens.length + 1));
  const fresh = await compare(server, NEW_VIEWERS, [
    (get) => start(get, openIndex),
    (get) => start(get, `${index}?jwt=${tokens.pop()!}`),
  ]);
  const unit = 'µs';
  return [
    atMostTimes(
      'server CPU per media playlist under a jwt policy, viewer already known',
      known.restricted,
      { name: 'public stream, same run', value: known.open },
      { times: 1.2, unit },
    ),
    atMostTimes(
      `server CPU per viewer who starts with a token that was never seen: index, playlists, init segments, ${FIRST_SEGMENTS} segments of each`,
      fresh.restricted,
      { name: 'public stream, same run', value: fresh.open },
      { times: 2, unit },
    ),
    await segmentHits(server, `${index}?jwt=`, sign),
  ];
}

/** Publishes to a new stream until disposed. */
async function publish(server: ServerProcess, playbackPolicy?: object): Promise<Broadcast> {
  const live = await broadcast(server, SHAPE, playbackPolicy === undefined ? {} : { playbackPolicy });
  await sleep(5000); // a playlist of some segments
  return live;
}

async function videoPlaylist(server: ServerProcess, index: string): Promise<string> {
  const url = new URL(index, server.url);
  const { video } = playlistNames(await (await fetch(url)).text());
  return new URL(video!, url).pathname;
}

/** Gets a path. @throws when the answer is not 200 */
type Get = (path: string) => Promise<LeanResponse>;

/** Does what a player does before it plays. */
async function start(get: Get, index: string): Promise<void> {
  const multivariant = (await get(index)).body.toString();
  const { video, audio } = playlistNames(multivariant);
  for (const name of [video!, audio!]) {
    const path = new URL(name, `http://host${index}`).pathname;
    const { segments } = readMediaPlaylist((await get(path)).body.toString());
    const init = segments.find(({ map }) => map !== undefined)!.map!;
    const newest = segments.flatMap(({ uri }) => uri ?? []).slice(-FIRST_SEGMENTS);
    for (const uri of [init, ...newest]) await get(new URL(uri, `http://host${path}`).pathname);
  }
}

/** Median CPU of both, in microseconds each time. */
function compare(
  { pid, httpPort }: ServerProcess,
  times: number,
  [open, restricted]: readonly [(get: Get) => Promise<unknown>, (get: Get) => Promise<unknown>],
) {
  const cost = (once: typeof open) => async () =>
    ((await cpuMsDuring(pid, () => load(httpPort, times, once))) * 1000) / times;
  return inRounds(ROUNDS, { open: cost(open), restricted: cost(restricted) }, { warmUp: 1 });
}

async function load(port: number, times: number, once: (get: Get) => Promise<unknown>): Promise<void> {
  let done = 0;
  const repeat = async () => {
    using connection = await LeanConnection.open(port);
    const get: Get = async (path) => {
      const answer = await connection.request(requestHead('GET', path));
      if (answer.status !== 200) throw new Error(`${path} gave ${answer.status}: ${answer.body.toString()}`);
      return answer;
    };
    while (done++ < times) await once(get);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, repeat));
}

/** How many requests for segments nginx answers itself, when each viewer has a token of its own. */
async function segmentHits(
  server: ServerProcess,
  index: string,
  sign: (viewer: number) => Promise<string>,
): Promise<Answer> {
  await using proxy = await startNginx(`127.0.0.1:${server.httpPort}`);
  const port = Number(new URL(proxy.url).port);
  const counts = { hits: 0, all: 0, shared: 0 };
  const until = performance.now() + WATCHED_S * 1000;
  await Promise.all(
    Array.from({ length: VIEWERS }, async (_, viewer) => watch(port, index + (await sign(viewer)), { counts, until })),
  );
  const percent = (100 * counts.hits) / counts.all;
  return {
    question: `segments for ${VIEWERS} viewers with a token each behind stock nginx: answered by its cache`,
    measured: `${show(percent)} % of ${counts.all}; playlists: ${counts.shared}`,
    against: `limit ${MUST_HIT_PERCENT} %; no playlist`,
    ratio: percent / MUST_HIT_PERCENT,
    mustReach: `>= ${MUST_HIT_PERCENT} %`,
    reached: percent >= MUST_HIT_PERCENT && counts.shared === 0,
  };
}

/** Reloads a media playlist by blocking requests, and loads each whole segment once. */
async function watch(
  port: number,
  index: string,
  { counts, until }: { readonly counts: { hits: number; all: number; shared: number }; readonly until: number },
): Promise<void> {
  using connection = await LeanConnection.open(port);
  const get = async (path: string) => {
    const answer = await connection.get(path);
    if (answer.status !== 200) throw new Error(`${path} gave ${answer.status}: ${answer.body.toString()}`);
    return answer;
  };
  await sleep(Math.random() * 2000);
  const { video } = playlistNames((await get(index)).body.toString());
  const playlist = new URL(video!, `http://host${index}`).pathname;
  const seen = new Set<string>();
  let query = '';
  while (performance.now() < until) {
    const answer = await get(playlist + query);
    if (answer.header('x-cache') === 'HIT') counts.shared += 1;
    const { segments } = readMediaPlaylist(answer.body.toString());
    for (const { uri } of segments) {
      if (uri === undefined || seen.has(uri)) continue;
      seen.add(uri);
      counts.all += 1;
      if ((await get(new URL(uri, `http://host${playlist}`).pathname)).header('x-cache') === 'HIT') counts.hits += 1;
    }
    const last = segments.at(-1)!;
    query = `?_HLS_msn=${last.uri === undefined ? last.msn : last.msn + 1}`;
  }
}
