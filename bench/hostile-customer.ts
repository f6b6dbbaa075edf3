/**
 * What can one customer do to another one who publishes to the same server?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../test/support/api-client.ts';
import { transcodersOf } from '../test/support/children.ts';
import { newCustomer } from '../test/support/customer.ts';
import { RtmpClient } from '../test/support/rtmp-client.ts';
import type { Target } from './attacks/attack.ts';
import { CUSTOMER_ATTACKS } from './attacks/customer-attacks.ts';
import { ONE_ADDRESS, VICTIM } from './support/addresses.ts';
import { type Clip, encodeClip } from './support/clip.ts';
import { type Attacked, answersOf, attackInTurn, startVictims } from './support/hostile-intervals.ts';
import { createStreams } from './support/load.ts';
import { type ObservedServer, startObservedServer } from './support/observed-server.ts';
import type { Answer, BenchOptions } from './support/question.ts';
import { replay } from './support/sender.ts';

/** Settings with little memory for media and few transcoders, so that an attack needs little of the machine to take them all. */
const SETTINGS = {
  MILLRACE_LOG_LEVEL: 'info',
  MILLRACE_MEDIA_MEMORY_MIB: '256',
  MILLRACE_TRANSCODE_MAX: '3',
  MILLRACE_QUOTA_TRANSCODES: '1',
};
const KEYS = 8;
const PROFILE = { name: 'small', bitrate: 100_000, fps: 0, width: 240, height: 136 };
const SOURCE = { width: 320, height: 180, fps: 15, gopS: 1, bFrames: 0, bitrateBps: 200_000 };
/** The media that the other customer sends. */
const SHAPE = { fps: 30, gopS: 2, bitrateBps: 1_000_000 };
/** How many streams the other customer has. */
const VICTIMS = 3;
const INTERVALS = {
  asked: { quietMs: 15_000, hostileMs: 90_000 },
  usual: { quietMs: 4000, hostileMs: 15_000 },
};
/** How often the other customer begins a stream that is to be transcoded. */
const TRIES = 3;
/** How long it may take until such a stream is transcoded. */
const TRANSCODED_WITHIN_MS = 8000;

/** Answers the question for each attack, and whether the other customer still gets a transcoder. */
export async function hostileCustomer({ long, only }: BenchOptions): Promise<readonly Answer[]> {
  const names = Object.keys(CUSTOMER_ATTACKS).filter((name) => only === undefined || name.includes(only));
  if (names.length === 0) return [];
  const clip = await encodeClip(SOURCE);
  await using server = await startObservedServer({ settings: SETTINGS });
  const [attacker, victim] = [await newCustomer(server, 'attacker'), await newCustomer(server, 'victim')];
  const attackers = await createStreams(attacker, KEYS, () => ({ profiles: [PROFILE] }));
  const streamKeys = attackers.map(({ streamKey }) => streamKey);
  await using victims = await startVictims(server, await createStreams(victim, VICTIMS), { shape: SHAPE });
  const { rtmpPort } = server;
  const target: Target = { httpPort: server.httpPort, rtmpPort, rtmpsPort: 0, playlistPath: '', streamKeys };

  const done: (Attacked & { readonly transcoding: Transcoding })[] = [];
  for (const attack of names) {
    const jobs = [{ attack, target, addresses: ONE_ADDRESS }];
    let transcoding: Transcoding | undefined;
    const meanwhile = async () => {
      transcoding = await tryTranscoding(server, victim, clip);
    };
    for await (const each of attackInTurn(server, victims, jobs, long ? INTERVALS.asked : INTERVALS.usual, meanwhile)) {
      done.push({ ...each, transcoding: transcoding! });
    }
  }
  const answers = answersOf(done, ({ attack }) => `a customer with ${attack}`);
  return answers.map((answer, index) => withTranscoding(answer, done[index]!.transcoding));
}

/** How many of the streams that were begun during the attack were transcoded, and how many transcoders ran at most. */
interface Transcoding {
  readonly transcoded: number;
  readonly mostWorkers: number;
}

async function tryTranscoding(server: ObservedServer, victim: ApiClient, clip: Clip): Promise<Transcoding> {
  // Let the attack take effect first.
  await sleep(3000);
  let transcoded = 0;
  let mostWorkers = 0;
  const countWorkers = () => {
    mostWorkers = Math.max(mostWorkers, transcodersOf(server.pid).length);
  };
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    // A stream that is refused or disconnected is not transcoded either.
    if (await isTranscoded(server, victim, clip, countWorkers).catch(() => false)) transcoded += 1;
  }
  return { transcoded, mostWorkers };
}

/** Publishes a new stream until it is transcoded, or time is up. @returns whether it was @param look is called again and again meanwhile */
async function isTranscoded(server: ObservedServer, victim: ApiClient, clip: Clip, look: () => void): Promise<boolean> {
  const { id, streamKey } = await victim.createStream({ profiles: [PROFILE] });
  const stop = new AbortController();
  await using client = await RtmpClient.publish(server.rtmpPort, streamKey, 'live', { from: VICTIM });
  const sending = replay(client, streamKey, clip, { signal: stop.signal });
  sending.catch(() => {}); // awaited below
  let isRunning = false;
  for (const startedAt = performance.now(); !isRunning && performance.now() - startedAt < TRANSCODED_WITHIN_MS; ) {
    look();
    const { health } = await victim.getStream(id);
    isRunning = health?.renditions.some(({ name, state }) => name === PROFILE.name && state === 'running') ?? false;
    await sleep(100);
  }
  stop.abort();
  await sending;
  return isRunning;
}

function withTranscoding(answer: Answer, { transcoded, mostWorkers }: Transcoding): Answer {
  return {
    ...answer,
    measured: `${answer.measured}, ${transcoded} of ${TRIES} streams of others transcoded`,
    mustReach: `${answer.mustReach}, ${TRIES} of ${TRIES} transcoded`,
    reached: answer.reached && transcoded === TRIES,
    details: `${answer.details}; at most ${mostWorkers} of ${SETTINGS.MILLRACE_TRANSCODE_MAX} transcoders ran`,
  };
}
