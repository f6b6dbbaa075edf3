/**
 * The publishers of this process: one for each stream.
 */
import type { StreamId, UserId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { Refusal } from '#ingest/ingest.ts';
import { DISCONNECTS, type DisconnectReason } from './disconnects.ts';
import type { Intake } from './intake.ts';
import { isMadeFor } from './new-session.ts';

/** A publisher that sent nothing for this long may be replaced, because its connection is probably half open. */
export const TAKEOVER_SILENCE_MS = 3000;

/** The refusal of a second publisher. */
export const STREAM_KEY_IN_USE: Refusal = {
  code: 'stream_key_in_use',
  reason: 'This stream key is already in use: stop the other encoder first.',
};

/**
 * This share of all places is reserved for users that have fewer publishers than there are reserved places, so that a user with many
 * publishers cannot keep everybody else out. A user without a limit, such as an admin, may take these places, too.
 */
const RESERVED_SHARE = 0.1;

/** An accepted publisher. */
export interface Publisher {
  readonly intake: Intake;
  /** The stream key that it used. */
  readonly streamKey: Secret;
  /** The stream as it was when the publisher was accepted. */
  readonly stream: Stream;
  /** Tells the publisher the reason and disconnects it. */
  readonly disconnect: (refusal: Refusal) => void;
}

/** The publishers of one process. */
export class Publishers {
  readonly #limit: number;
  readonly #publishers = new Map<StreamId, Publisher>();
  readonly #countByUser = new Map<UserId, number>();
  /** Why each publisher is being disconnected. */
  readonly #disconnects = new WeakMap<Intake, DisconnectReason>();

  /** @param limit the largest number of publishers */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of publishers. */
  get count(): number {
    return this.#publishers.size;
  }

  /** The number of publishers of one user's streams. */
  countOf(userId: UserId): number {
    return this.#countByUser.get(userId) ?? 0;
  }

  /** The streams with a publisher, each with its user. */
  get streams(): ReadonlyMap<StreamId, UserId> {
    return new Map(Array.from(this.#publishers, ([streamId, { stream }]) => [streamId, stream.userId]));
  }

  /** The streams with a publisher, each with the time for which nothing was received, in milliseconds. */
  get silences(): ReadonlyMap<StreamId, number> {
    return new Map(Array.from(this.#publishers, ([streamId, { intake }]) => [streamId, intake.silentMs]));
  }

  /** Whether the stream has a publisher. */
  has(streamId: StreamId): boolean {
    return this.#publishers.has(streamId);
  }

  /** Whether media of the stream is being received. */
  isActive(streamId: StreamId): boolean {
    return this.#publishers.get(streamId)?.intake.isActive ?? false;
  }

  /** Whether the stream has a publisher that used another key than this. */
  hasOtherKey(streamId: StreamId, streamKey: Secret): boolean {
    return this.#publishers.get(streamId)?.streamKey.equals(streamKey) === false;
  }

  /** Whether this is the stream's publisher. */
  isPublisher(streamId: StreamId, intake: Intake): boolean {
    return this.#publishers.get(streamId)?.intake === intake;
  }

  /** Whether the stream has a publisher that was accepted before the last termination of the stream. */
  isTerminated({ id, terminations }: Stream): boolean {
    const publisher = this.#publishers.get(id);
    return publisher !== undefined && publisher.stream.terminations < terminations;
  }

  /** Whether the stream has a publisher that was accepted before a change of the settings that a session keeps to its end. */
  isOutdated(stream: Stream): boolean {
    const publisher = this.#publishers.get(stream.id);
    return publisher !== undefined && !isMadeFor(stream, publisher.stream);
  }

  /**
   * Why another publisher of this stream would be refused now. Undefined when it would be accepted.
   * @param atMost the largest number of publishers of its user; 0 means no limit
   */
  refusalOf({ id, userId }: { readonly id: StreamId; readonly userId: UserId }, atMost: number): Refusal | undefined {
    const publisher = this.#publishers.get(id);
    if (publisher !== undefined) {
      return publisher.intake.silentMs < TAKEOVER_SILENCE_MS ? STREAM_KEY_IN_USE : undefined;
    }
    const own = this.countOf(userId);
    if (atMost > 0 && own >= atMost) {
      const reason = `This account already has ${own} publishers, and may have ${atMost}; stop another one first.`;
      return { code: 'quota_exceeded', reason };
    }
    const reserved = Math.floor(this.#limit * RESERVED_SHARE);
    const free = this.#limit - this.#publishers.size;
    if (free > reserved || (free > 0 && (atMost === 0 || own < reserved))) return undefined;
    return { code: 'too_many_publishers', reason: 'The server has reached its limit of publishers; try again later.' };
  }

  /**
   * Adds a publisher. It replaces a silent one of the same stream, whose connection was probably lost without the server noticing. The
   * session goes on.
   */
  add(streamId: StreamId, publisher: Publisher): void {
    const silent = this.#publishers.get(streamId);
    this.#publishers.set(streamId, publisher);
    if (silent === undefined) this.#countOne(publisher.stream.userId, 1);
    silent?.intake.end('connection_lost');
    silent?.disconnect(DISCONNECTS.replaced);
  }

  /** Removes a publisher that is gone. Returns false when another one had replaced it. */
  remove(streamId: StreamId, intake: Intake): boolean {
    const publisher = this.#publishers.get(streamId);
    if (publisher?.intake !== intake) return false;
    this.#publishers.delete(streamId);
    this.#countOne(publisher.stream.userId, -1);
    return true;
  }

  /** Why a publisher is being disconnected. Undefined when it is not. */
  disconnectReasonOf(intake: Intake): DisconnectReason | undefined {
    return this.#disconnects.get(intake);
  }

  /** Disconnects the publisher of a stream. Returns false when there is none. */
  disconnect(streamId: StreamId, reason: DisconnectReason): boolean {
    const publisher = this.#publishers.get(streamId);
    if (publisher === undefined) return false;
    this.#disconnects.set(publisher.intake, reason);
    // Its publication is ended first, because its protocol ends it only after telling the publisher the reason.
    try {
      publisher.intake.end('disconnected');
    } finally {
      publisher.disconnect(DISCONNECTS[reason]);
    }
    return true;
  }

  #countOne(userId: UserId, step: 1 | -1): void {
    const count = (this.#countByUser.get(userId) ?? 0) + step;
    if (count > 0) this.#countByUser.set(userId, count);
    else this.#countByUser.delete(userId);
  }
}
