/**
 * Can others still connect while somebody takes every connection that needs no key, from one address or from many?
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureTags } from '../test/support/flv-file.ts';
import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { RtmpClient } from '../test/support/rtmp-client.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { ADDRESS_ATTACKS } from './attacks/address-attacks.ts';
import type { Target } from './attacks/attack.ts';
import { KNOWN_ENCODER, MANY_NETWORKS, NEWCOMERS, ONE_ADDRESS, ONE_NETWORK, VICTIM } from './support/addresses.ts';
import { whileAttacked } from './support/attacking.ts';
import { broadcast } from './support/broadcast.ts';
import { rateOf } from './support/hostile-intervals.ts';
import { LeanConnection } from './support/lean-http.ts';
import { createStreams } from './support/load.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';
import { renditionUrls } from './support/rendition-reader.ts';

/** Settings with few places, so that few connections take them all, but with more of each than there are networks that want one. */
const SETTINGS = {
  MILLRACE_LOG_LEVEL: 'info',
  MILLRACE_MAX_HTTP_CONNECTIONS: '600',
  MILLRACE_MAX_HELD_REQUESTS: '400',
  MILLRACE_MAX_VIEWERS: '400',
  MILLRACE_RTMP_MAX_UNAUTHENTICATED: '100',
  // Attackers keep what they have, so that nobody gets in because a timeout frees all their places at once.
  MILLRACE_RTMP_HANDSHAKE_TIMEOUT_S: '60',
  MILLRACE_RTMP_PUBLISH_TIMEOUT_S: '60',
};
const SPREADS = [
  { name: 'one address', addresses: ONE_ADDRESS },
  { name: 'one /24', addresses: ONE_NETWORK },
  { name: '300 /24s', addresses: MANY_NETWORKS },
];
const SHAPE = { fps: 30, gopS: 2, bitrateBps: 300_000 };
/** How long the attackers take to open all the connections that they can get. */
const TAKEN_AFTER_MS = 4000;
const SERVED_WITHIN_MS = 5000;
const BACK_WITHIN_MS = 2000;
/** How long an encoder or a player waits before it tries again. */
const RETRY_MS = 250;
/** How long an encoder or a player waits for one attempt. */
const ATTEMPT_MS = 1500;

/** The server that is attacked, and its streams. */
interface Place {
  readonly server: TestServer;
  /** The URL of the media playlist that is watched. */
  readonly playlist: URL;
  readonly index: URL;
  /** The keys of streams that nobody publishes to: one for each newcomer, and one for the encoder that comes back. */
  readonly streamKeys: readonly string[];
}

/** Answers the question for each kind of place and each spread of addresses. */
export async function hostileAddress({ only }: BenchOptions): Promise<readonly Answer[]> {
  const questions = Object.keys(ADDRESS_ATTACKS).flatMap((attack) =>
    SPREADS.map((spread) => ({ attack, spread, name: `${spread.name} takes all ${attack}` })),
  );
  const answers: Answer[] = [];
  for (const { attack, spread, name } of questions) {
    if (only !== undefined && !name.includes(only)) continue;
    answers.push(await attackPlace(attack, spread.addresses, name));
  }
  return answers;
}

/** Measures one attack on a server of its own, so that what an attack leaves behind does not hide the next one. */
async function attackPlace(attack: string, addresses: readonly string[], name: string): Promise<Answer> {
  await using parts = new AsyncDisposableStack();
  const server = parts.use(await startServerProcess({ settings: SETTINGS }));
  const live = parts.use(await broadcast(server, SHAPE, { from: VICTIM }));
  const index = new URL(live.url);
  const { video: playlist } = await renditionUrls(live.url);
  const hasSegment = async () => (await (await fetch(playlist)).text()).includes('#EXTINF');
  await waitFor(hasSegment, { what: 'a whole segment' });
  const streamKeys = (await createStreams(server.api, NEWCOMERS.length + 1)).map((stream) => stream.streamKey);
  const place: Place = { server, playlist, index, streamKeys };
  const target: Target = {
    httpPort: server.httpPort,
    rtmpPort: server.rtmpPort,
    rtmpsPort: 0,
    playlistPath: playlist.pathname,
    streamKeys: [],
  };
  const newcomers = attack.includes('RTMP') ? publishersServed : viewersServed;
  const quiet = await newcomers(place);
  await cutEncoder(place);
  const { result, report } = await whileAttacked({ attack, target, addresses }, async () => {
    await sleep(TAKEN_AFTER_MS);
    return { backAfterMs: await backAfterMs(place), served: await newcomers(place) };
  });
  const { served, backAfterMs: backMs } = result;
  const all = NEWCOMERS.length;
  return {
    question: `${name}: others served, and an encoder that published before back`,
    measured: `${served}, ${backMs === undefined ? 'never' : `${show(backMs)} ms`}`,
    against: `quiet: ${quiet} of ${all}`,
    details: rateOf(report),
    mustReach: `${all} of ${all}, <= ${show(BACK_WITHIN_MS)} ms`,
    reached: served === all && backMs !== undefined && backMs <= BACK_WITHIN_MS,
  };
}

/** How many newcomers can watch, all at the same time, each from a network of its own. */
async function viewersServed({ index, playlist }: Place): Promise<number> {
  return await countServed((localAddress) => watchOnce({ index, playlist, localAddress }));
}

/** Starts as a player does: with both playlists, a segment that exists, and a part that is to come. @throws {Error} when one is refused */
async function watchOnce({
  index,
  playlist,
  localAddress,
}: {
  index: URL;
  playlist: URL;
  localAddress: string;
}): Promise<void> {
  using connection = await within(LeanConnection.open(Number(index.port), { localAddress }));
  // A new user agent makes a new viewer. One that watched a moment ago would be accepted as the same viewer.
  const player = `player ${randomUUID()}`;
  const get = async (path: string) => {
    const answer = await connection.get(path, { 'user-agent': player });
    if (answer.status !== 200) throw new Error(`${path} gave ${answer.status}`);
    return answer.body.toString();
  };
  const load = async () => {
    await get(index.pathname);
    const { segments } = readMediaPlaylist(await get(playlist.pathname));
    const whole = segments.findLast(({ uri }) => uri !== undefined)!;
    await get(new URL(whole.uri!, playlist).pathname);
    await get(`${playlist.pathname}?_HLS_msn=${segments.at(-1)!.msn + 1}&_HLS_part=0`);
  };
  await within(load(), SERVED_WITHIN_MS);
}

/** How many newcomers can publish. */
async function publishersServed({ server, streamKeys }: Place): Promise<number> {
  return await countServed((localAddress, index) => publishOnce(server, streamKeys[index]!, localAddress));
}

async function countServed(once: (localAddress: string, index: number) => Promise<void>): Promise<number> {
  const afterMs = await Promise.all(
    NEWCOMERS.map((localAddress, index) => untilServed(() => once(localAddress, index))),
  );
  return afterMs.filter((each) => each !== undefined).length;
}

async function publishOnce(server: TestServer, streamKey: string, localAddress: string): Promise<void> {
  const connecting = RtmpClient.publish(server.rtmpPort, streamKey, 'live', { from: localAddress });
  // A connection that is accepted too late is closed as well.
  connecting.then((client) => client.drop()).catch(() => {});
  await within(connecting);
}

/** Has an encoder publish to the last stream and lose its connection. */
async function cutEncoder({ server, streamKeys }: Place): Promise<void> {
  const client = await RtmpClient.publish(server.rtmpPort, streamKeys.at(-1)!, 'live', { from: KNOWN_ENCODER });
  client.tags(fixtureTags());
  await waitFor(
    async () => (await fetch(server.metricsUrl)).text().then((text) => /_count\{phase="live"\} 2/.test(text)),
    {
      what: 'its stream to go live',
    },
  );
  client.drop();
  await client.closed();
}

/** After how many milliseconds that encoder is accepted again; undefined when it is not accepted in time. */
function backAfterMs({ server, streamKeys }: Place): Promise<number | undefined> {
  return untilServed(() => publishOnce(server, streamKeys.at(-1)!, KNOWN_ENCODER));
}

/** Tries until an attempt succeeds. @returns after how many milliseconds it did; undefined when none did in time */
async function untilServed(attempt: () => Promise<void>): Promise<number | undefined> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < SERVED_WITHIN_MS) {
    const succeeded = await attempt().then(
      () => true,
      () => false,
    );
    const afterMs = performance.now() - startedAt;
    if (succeeded) return afterMs <= SERVED_WITHIN_MS ? afterMs : undefined;
    await sleep(RETRY_MS);
  }
  return undefined;
}

async function within<Value>(promise: Promise<Value>, ms = ATTEMPT_MS): Promise<Value> {
  const late = sleep(ms, undefined, { ref: false }).then(() => Promise.reject(new Error(`not within ${ms} ms`)));
  late.catch(() => {});
  return await Promise.race([promise, late]);
}
