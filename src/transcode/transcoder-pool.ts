/**
 * The transcoders of this process: how many there may be, and which sessions get them.
 */
import type { StreamId, UserId } from '#domain/ids.ts';
import type { Profile } from '#domain/profile.ts';
import type { Clock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { TranscodeSettings } from './config.ts';
import type { WorkerStarter } from './fork-server.ts';
import { ProcessTranscoder } from './process-transcoder.ts';
import type { SourceTrust } from './source-trust.ts';
import { StartIntervals } from './start-intervals.ts';
import type { Transcoder, TranscoderCallbacks } from './transcoder.ts';

/** How long media must have been received before a transcoder is started for it. */
const WORTHWHILE_MS = 1000;

/** The request of a session for a transcoder. */
export interface TranscodeRequest {
  readonly userId: UserId;
  readonly streamId: StreamId;
  /** The number of transcoders that the user may have at the same time. 0 or undefined means no limit. */
  readonly atMost?: number | undefined;
  /** How long media has been received, in milliseconds: the shorter of the times by its timestamps and by the clock. */
  readonly lastedMs: number;
  readonly profiles: readonly Profile[];
  readonly callbacks: TranscoderCallbacks;
  /** Counts the workers that the video of the session has ended so far. */
  readonly trust: SourceTrust;
  /** Called when the place goes to another user. The pool disposes the transcoder, and its later results must be ignored. */
  readonly onRevoked: () => void;
  /** A logger with the session's ids. */
  readonly logger: Logger;
}

/**
 * Why a request got no transcoder. `limit`: the server has no place for this user. `quota`: the user has reached its quota. `unavailable`:
 * FFmpeg is not installed. `later`: it is too early, and the caller should ask again with its next packet.
 */
export type TranscodeRefusal = 'limit' | 'quota' | 'unavailable' | 'later';

/** The options of a pool. */
export interface TranscoderPoolOptions {
  readonly settings: TranscodeSettings;
  readonly clock: Clock;
  /** Starts the workers. */
  readonly forkServer: WorkerStarter;
  /** Whether FFmpeg is installed. Without it no session gets a transcoder. */
  readonly isAvailable: boolean;
}

/** One of the limited places for transcoders, after it was taken. */
interface Place {
  readonly transcoder: ProcessTranscoder;
  readonly onRevoked: () => void;
}

/**
 * Hands out transcoders up to the operator's limit. When all places are taken, the user with the most loses its newest one to a user with
 * at least two fewer, so that nobody goes without while another user has more than its share.
 */
export class TranscoderPool {
  readonly #settings: TranscodeSettings;
  readonly #clock: Clock;
  readonly #forkServer: WorkerStarter;
  readonly #isAvailable: boolean;
  readonly #starts = new StartIntervals();
  /** The places of each user that holds any, the oldest first. */
  readonly #places = new Map<UserId, Set<Place>>();

  constructor({ settings, clock, forkServer, isAvailable }: TranscoderPoolOptions) {
    this.#settings = settings;
    this.#clock = clock;
    this.#forkServer = forkServer;
    this.#isAvailable = isAvailable;
  }

  /** The number of taken places: transcoders that were neither disposed nor revoked. */
  get count(): number {
    let count = 0;
    for (const places of this.#places.values()) count += places.size;
    return count;
  }

  /** Hands out a transcoder, which the caller must dispose, or returns why there is none. */
  open(request: TranscodeRequest): Transcoder | TranscodeRefusal {
    const { userId, streamId, atMost = 0, onRevoked } = request;
    const { maxTranscodes } = this.#settings;
    if (!this.#isAvailable) return 'unavailable';
    if (request.lastedMs < WORTHWHILE_MS) return 'later';
    const held = this.#places.get(userId)?.size ?? 0;
    if (atMost > 0 && held >= atMost) return 'quota';
    const isFull = this.count >= maxTranscodes;
    const victim = isFull ? this.#largestHolder(held + 1) : undefined;
    if (isFull && victim === undefined) return 'limit';
    const atOnce = atMost > 0 ? Math.min(atMost, maxTranscodes) : maxTranscodes;
    if (!this.#starts.take({ streamId, userId, atOnce }, this.#clock.monotonic())) return 'later';
    if (victim !== undefined) this.#revokeNewest(victim);
    const [settings, clock, forkServer] = [this.#settings, this.#clock, this.#forkServer];
    const transcoder = new ProcessTranscoder({ ...request, settings, clock, forkServer });
    return this.#placed(userId, { transcoder, onRevoked });
  }

  #placed(userId: UserId, place: Place): Transcoder {
    const places = this.#places.get(userId) ?? new Set();
    this.#places.set(userId, places.add(place));
    const { transcoder } = place;
    let disposal: Promise<void> | undefined;
    const dispose = async () => {
      await transcoder[Symbol.asyncDispose]();
      this.#release(userId, place);
    };
    return {
      setTrack: (track) => transcoder.setTrack(track),
      setAudioTrack: (track) => transcoder.setAudioTrack(track),
      write: (packet) => transcoder.write(packet),
      flush: () => transcoder.flush(),
      get stats() {
        return transcoder.stats;
      },
      [Symbol.asyncDispose]: () => {
        disposal ??= dispose();
        return disposal;
      },
    };
  }

  /** The user with the most places. Undefined when no user has more than `moreThan`. */
  #largestHolder(moreThan: number): UserId | undefined {
    let [largest, most]: [UserId | undefined, number] = [undefined, moreThan];
    for (const [userId, { size }] of this.#places) if (size > most) [largest, most] = [userId, size];
    return largest;
  }

  #revokeNewest(userId: UserId): void {
    const place = [...this.#places.get(userId)!].at(-1)!;
    this.#release(userId, place);
    void place.transcoder[Symbol.asyncDispose]();
    place.onRevoked();
  }

  #release(userId: UserId, place: Place): void {
    const places = this.#places.get(userId);
    places?.delete(place);
    if (places?.size === 0) this.#places.delete(userId);
  }
}
