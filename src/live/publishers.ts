/**
 * Who publishes here: one publisher for each stream.
 */
import type { StreamId, UserId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { Refusal } from '#ingest/ingest.ts';
import { DISCONNECTS, type DisconnectReason } from './disconnects.ts';
import type { Intake } from './intake.ts';
import { isMadeFor } from './new-session.ts';

/** A publisher that sent nothing for this long may be replaced: its socket is probably half open. */
export const TAKEOVER_SILENCE_MS = 3000;

/** The answer to a second publisher. */
export const STREAM_KEY_IN_USE: Refusal = {
  code: 'stream_key_in_use',
  reason: 'This stream key is already in use: stop the other encoder first.',
};

/**
 * This part of all places is kept for users that have fewer publishers than it has places, so that a user who may have many publishers
 * cannot keep everybody else out. A user without a limit, such as an admin, may take these places too.
 */
const KEPT_PART = 0.1;

/** One who was accepted. */
export interface Publisher {
  readonly intake: Intake;
  /** What it came with. */
  readonly streamKey: Secret;
  /** The stream as it was when the publisher was accepted. */
  readonly stream: Stream;
  /** Sends the publisher the reason, and disconnects it. */
  readonly disconnect: (refusal: Refusal) => void;
}

/** The publishers of one process. */
export class Publishers {
  readonly #limit: number;
  readonly #publishers = new Map<StreamId, Publisher>();
  readonly #countByUser = new Map<UserId, number>();
  /** Why each publisher is being disconnected. */
  readonly #disconnects = new WeakMap<Intake, DisconnectReason>();

  /** @param limit how many there may be */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#publishers.size;
  }

  /** How many publish the streams of one user. */
  countOf(userId: UserId): number {
    return this.#countByUser.get(userId) ?? 0;
  }

  /** The streams somebody publishes, each with its user. */
  get streams(): ReadonlyMap<StreamId, UserId> {
    return new Map(Array.from(this.#publishers, ([streamId, { stream }]) => [streamId, stream.userId]));
  }

  /** The streams somebody publishes, each with how long nothing was heard, in milliseconds. */
  get silences(): ReadonlyMap<StreamId, number> {
    return new Map(Array.from(this.#publishers, ([streamId, { intake }]) => [streamId, intake.silentForMs()]));
  }

  /** Whether somebody publishes the stream. */
  has(streamId: StreamId): boolean {
    return this.#publishers.has(streamId);
  }

  /** Whether media of it is coming in. */
  isActive(streamId: StreamId): boolean {
    return this.#publishers.get(streamId)?.intake.isActive ?? false;
  }

  /** Whether somebody publishes it with another key than this. */
  hasOtherKey(streamId: StreamId, streamKey: Secret): boolean {
    return this.#publishers.get(streamId)?.streamKey.equals(streamKey) === false;
  }

  /** Whether the stream's publisher is this one. */
  isBy(streamId: StreamId, intake: Intake): boolean {
    return this.#publishers.get(streamId)?.intake === intake;
  }

  /** Whether the stream has a publisher that was accepted before the stream was last terminated. */
  isTerminated({ id, terminations }: Stream): boolean {
    const publisher = this.#publishers.get(id);
    return publisher !== undefined && publisher.stream.terminations < terminations;
  }

  /** Whether the stream has a publisher that was accepted before the settings changed that a session keeps to its end. */
  isOutdated(stream: Stream): boolean {
    const publisher = this.#publishers.get(stream.id);
    return publisher !== undefined && !isMadeFor(stream, publisher.stream);
  }

  /**
   * Why one more publisher of this stream would be refused now; undefined when it would not.
   * @param atMost how many publishers its user may have; 0 = any number
   */
  refusalOf({ id, userId }: { readonly id: StreamId; readonly userId: UserId }, atMost: number): Refusal | undefined {
    const publisher = this.#publishers.get(id);
    if (publisher !== undefined) {
      return publisher.intake.silentForMs() < TAKEOVER_SILENCE_MS ? STREAM_KEY_IN_USE : undefined;
    }
    const own = this.countOf(userId);
    if (atMost > 0 && own >= atMost) {
      const reason = `This account already has ${own} publishers, and may have ${atMost}; stop another one first.`;
      return { code: 'quota_exceeded', reason };
    }
    const kept = Math.floor(this.#limit * KEPT_PART);
    const free = this.#limit - this.#publishers.size;
    if (free > kept || (free > 0 && (atMost === 0 || own < kept))) return undefined;
    return { code: 'too_many_publishers', reason: 'The server has as many publishers as it accepts; try again later.' };
  }

  /** Takes one. One that is there already looked alive but was lost, and ends nothing. */
  add(streamId: StreamId, publisher: Publisher): void {
    const silent = this.#publishers.get(streamId);
    this.#publishers.set(streamId, publisher);
    if (silent === undefined) this.#countOne(publisher.stream.userId, 1);
    silent?.intake.end('connection_lost');
    silent?.disconnect(DISCONNECTS.replaced);
  }

  /** Removes a publisher that is gone; false when another one had replaced it. */
  remove(streamId: StreamId, intake: Intake): boolean {
    const publisher = this.#publishers.get(streamId);
    if (publisher?.intake !== intake) return false;
    this.#publishers.delete(streamId);
    this.#countOne(publisher.stream.userId, -1);
    return true;
  }

  /** Why a publisher is being disconnected; undefined when it is not. */
  disconnectReasonOf(intake: Intake): DisconnectReason | undefined {
    return this.#disconnects.get(intake);
  }

  /** Disconnects the publisher of a stream; false when it has none. */
  disconnect(streamId: StreamId, reason: DisconnectReason): boolean {
    const publisher = this.#publishers.get(streamId);
    if (publisher === undefined) return false;
    this.#disconnects.set(publisher.intake, reason);
    // First ends what it publishes: its protocol does so only when it has told it why.
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
