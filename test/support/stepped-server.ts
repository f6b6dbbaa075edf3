/**
 * A server in this process whose clock a test moves. Media is sent in small steps of that clock, and each step waits until the service has
 * dealt with the one before it. What a test sees therefore does not depend on the speed of the machine, and takes only as long as
 * the work itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { CreatedStream } from './api-client.ts';
import type { FlvFileTag } from './flv-file.ts';
import { RtmpClient } from './rtmp-client.ts';
import { type InnerServer, type ServerOptions, startServer, type TestServer } from './server.ts';
import { waitFor } from './wait-for.ts';

/** Milliseconds of media that are sent at once: less than a part, so that every part exists before the next one begins. */
export const STEP_MS = 200;
/** Longer than the interval of the timers by which sessions are paced. */
const TURN_MS = 300;
/** Rates are limited by the clock that a test moves, so the limits must not be reached. */
const UNLIMITED = { MILLRACE_API_RATE_LIMIT: '0', MILLRACE_QUOTA_REQUESTS_PER_MINUTE: '0' };
/** The longest wait for a transcoder to start, on a machine that may be busy. */
const STEP_TIMEOUT_MS = 120_000;

/** Requests are held by the clock of the machine, which goes on while that of the test stands still. Longer than any test. */
const HOLD_MS = 600_000;

/** A clock that moves only with {@link SteppedClock.advance}. */
export class SteppedClock implements Clock {
  readonly #startedAt = systemClock.now();
  #elapsedMs = 0;

  now() {
    return ms(this.#startedAt + this.#elapsedMs);
  }

  monotonic() {
    return ms(this.#elapsedMs);
  }

  advance(byMs: number): void {
    this.#elapsedMs += byMs;
  }
}

/** A recorded tag, and when it is sent. */
export interface Sending extends FlvFileTag {
  /** Milliseconds from the start of the publish. */
  readonly atMs: number;
}

/** A publish in steps, and who has to keep up with it. */
export interface SteppedPublish {
  readonly stream: CreatedStream;
  /** In the order in which they are sent. */
  readonly sendings: readonly Sending[];
  /**
   * A track that the server expects does not come at first: it waits for that track in real time, and so does the publish. The step after
   * which a session must have begun, in milliseconds since the start of the publish.
   */
  readonly beginsAtMs?: number;
  /** Milliseconds of media that are sent at once; {@link STEP_MS} by default. */
  readonly stepMs?: number;
  /**
   * Whether a step waits until the timers of sessions have had a turn. They run in real time, and only they notice that a source without
   * audio sends no frames. No step by default.
   */
  readonly isPaced?: (atMs: number) => boolean;
  /** Whether a step is sent although the transcoder lags, because the test has ended or frozen it. No step by default. */
  readonly isUnaided?: (atMs: number) => boolean;
  /** Called after each step with the milliseconds since the start of the publish. The next step waits for it. */
  readonly afterStep?: (atMs: number) => Promise<void>;
}

/** A server whose clock stands still between steps. */
export interface SteppedServer extends InnerServer {
  readonly clock: SteppedClock;
  /** Connects and publishes as an encoder does. */
  connect(stream: CreatedStream): Promise<RtmpClient>;
  /** Sends media on an open connection, step by step, and stops after the last one. */
  send(client: RtmpClient, publish: SteppedPublish): Promise<void>;
  /** Moves the clock without sending anything. */
  pass(byMs: number): Promise<void>;
}

/** Starts the server. */
export async function startSteppedServer(options: Pick<ServerOptions, 'settings'> = {}): Promise<SteppedServer> {
  const clock = new SteppedClock();
  const server = await startServer({ settings: { ...UNLIMITED, ...options.settings }, clock, longestHoldMs: HOLD_MS });
  return {
    ...server,
    clock,
    connect: ({ streamKey }) => RtmpClient.publish(server.rtmpPort, streamKey),
    send: (client, publish) => send(server, clock, client, publish),
    async pass(byMs) {
      for (let passedMs = 0; passedMs < byMs; passedMs += TURN_MS) {
        clock.advance(Math.min(TURN_MS, byMs - passedMs));
        await sleep(TURN_MS);
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tags that are sent at their own timestamps. */
export function inTime(tags: readonly FlvFileTag[]): readonly Sending[] {
  return tags.map((tag) => ({ ...tag, atMs: tag.timestamp }));
}

async function send(
  server: TestServer,
  clock: SteppedClock,
  client: RtmpClient,
  {
    stream,
    sendings,
    beginsAtMs,
    stepMs = STEP_MS,
    isPaced = () => false,
    isUnaided = () => false,
    afterStep,
  }: SteppedPublish,
): Promise<void> {
  let sent = 0;
  for (let atMs = 0; sent < sendings.length; atMs += stepMs) {
    while (sent < sendings.length && sendings[sent]!.atMs <= atMs) {
      client.tag(sendings[sent]!);
      sent += 1;
    }
    await client.heard();
    if (atMs === beginsAtMs) await waitFor(() => hasBegun(server, stream), { what: 'the session to begin' });
    clock.advance(stepMs);
    if (isPaced(atMs)) await sleep(TURN_MS);
    const hasKeptUp = async () => isUnaided(atMs) || (await isIdle(server, stream));
    await waitFor(hasKeptUp, { what: 'the transcoder to keep up', timeoutMs: STEP_TIMEOUT_MS });
    await afterStep?.(atMs);
  }
}

/** A session has begun when its tracks are known. */
async function hasBegun(server: TestServer, { id }: CreatedStream): Promise<boolean> {
  const { health } = await server.api.getStream(id);
  return health?.source.video !== undefined || health?.source.audio !== undefined;
}

/** Whether the transcoder has processed all packets that were sent. Call it when time has passed since the last one. */
async function isIdle(server: TestServer, { id }: CreatedStream): Promise<boolean> {
  const { health } = await server.api.getStream(id);
  return (health?.transcoder?.lag ?? 0) === 0;
}
