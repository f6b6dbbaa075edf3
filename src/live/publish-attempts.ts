/**
 * Tells the owners of streams about encoders that were refused or disconnected, because encoders do not show why.
 */
import {
  type AttemptSource,
  DISCONNECTED_ATTEMPTS,
  type DisconnectedAttempt,
  REFUSED_ATTEMPTS,
  type RefusedAttempt,
} from '#domain/attempt.ts';
import { MillraceError } from '#domain/errors.ts';
import type { NewStreamEvent } from '#domain/events.ts';
import { type NodeId, newEventId, type UserId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { PublishRequest, Refusal } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import { type Attribution, type AttributionStore, attribute } from './attribution.ts';
import { type RecentAttempt, RecentAttempts, type RefusedPublish, refusedPublishOf } from './recent-attempts.ts';
import { RepeatedEvents, type Repeats } from './repeated-events.ts';

/** Everybody without a valid key, who share one allowance of events. */
const STRANGERS = 'strangers';
/** The most wrong keys that wait to be looked up. Further ones count as unknown keys. */
const MAX_LOOKUPS = 64;
/** The most attempts that a node announces to the others. */
const ANNOUNCED = { perMinute: 120, atOnce: 20 } as const;

/** What the owner is told about a refusal of a publisher whose stream key is valid. Refusals with other codes are not reported. */
const REASONS: Partial<Record<Refusal['code'], RefusedAttempt>> = {
  stream_key_in_use: 'already_live',
  stream_suspended: 'stream_suspended',
  quota_exceeded: 'quota_exceeded',
  media_memory_exhausted: 'quota_exceeded',
  too_many_publishers: 'server_full',
};

/** The properties of an encoder that its owner is shown. */
export type Encoder = Pick<PublishRequest, 'protocol' | 'remoteAddress' | 'encoder'>;

/** How a publisher that had been accepted was lost or disconnected. */
export interface PublisherEnd {
  readonly reason: DisconnectedAttempt;
  readonly connectedAt: Milliseconds;
  /** The code with which the connection ended. Undefined when there is none. */
  readonly cause: string | undefined;
}

/** The options of {@link PublishAttempts}. */
export interface PublishAttemptsOptions {
  readonly store: AttributionStore & Pick<Store, 'isShared' | 'announce' | 'listen'>;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Stores an event, now or later. It must not throw. */
  readonly happened: (event: NewStreamEvent) => void;
}

/** Reports the attempts of one process to owners, and remembers the recent attempts at all nodes. */
export class PublishAttempts implements AsyncDisposable {
  readonly #options: PublishAttemptsOptions;
  /** Events that can be caused without a valid key. Apart from the others, so that strangers cannot use up the allowances of customers. */
  readonly #strangersEvents: RepeatedEvents;
  /** Events that only an encoder with a valid key can cause. Each user has an allowance. */
  readonly #events: RepeatedEvents;
  readonly #recent = new RecentAttempts();
  readonly #announced: TokenBuckets;
  readonly #listening: Disposable | undefined;
  /** The lookups that run or wait. */
  readonly #lookups = new Set<Promise<void>>();
  #lastLookup: Promise<void> = Promise.resolve();

  constructor(options: PublishAttemptsOptions) {
    const { store, clock, nodeId } = options;
    this.#options = options;
    this.#strangersEvents = new RepeatedEvents(clock);
    this.#events = new RepeatedEvents(clock);
    this.#announced = new TokenBuckets({ ...ANNOUNCED, clock });
    this.#listening = store.isShared
      ? store.listen((announcement) => {
          if (announcement.type !== 'publish_refused' || announcement.nodeId === nodeId) return;
          const attempt = refusedPublishOf(announcement.attempt);
          if (attempt !== undefined) this.#recent.note(attempt);
        })
      : undefined;
  }

  /** The refused attempts of the last day at all nodes, the latest first. When there are very many, some of other nodes may be missing. */
  get recent(): readonly RecentAttempt[] {
    return this.#recent.list(this.#options.clock.now());
  }

  /** Notes that an encoder was refused because its key or address is wrong. @param text what it sent @param right see {@link attribute} */
  wrongKey(encoder: Encoder, text: Secret, right: 'key_not_alone' | 'address_invalid' = 'key_not_alone'): void {
    const unknown = (): void => {
      this.#refused(encoder, {
        reason: 'key_unknown',
        message: REFUSED_ATTEMPTS.key_unknown,
        streamId: undefined,
        userId: undefined,
      });
    };
    if (this.#lookups.size >= MAX_LOOKUPS) {
      unknown();
      return;
    }
    const { store, clock, logger } = this.#options;
    // Keys are looked up one after another, so that wrong keys do not keep the store busy for others.
    const lookup = this.#lastLookup.then(async () => {
      try {
        this.#refused(encoder, await attribute(text, right, { store, clock }));
      } catch (error) {
        if (!(error instanceof MillraceError))
          logger.warn({ err: error }, 'the owner of a wrong stream key could not be looked up');
        unknown();
      }
    });
    this.#lastLookup = lookup;
    this.#lookups.add(lookup);
    void lookup.finally(() => this.#lookups.delete(lookup));
  }

  /** Notes that an address has sent too many wrong keys, so that its keys are not checked. */
  throttled(encoder: Encoder): void {
    const reason = 'too_many_attempts';
    this.#refused(encoder, { reason, message: REFUSED_ATTEMPTS[reason], streamId: undefined, userId: undefined });
  }

  /** Notes that an encoder whose stream key is valid was refused. */
  refused(encoder: Encoder, stream: Stream, refusal: Refusal, isUserSuspended = false): void {
    const reason = isUserSuspended ? 'user_suspended' : REASONS[refusal.code];
    if (reason === undefined) return;
    const hasNumbers = reason === 'quota_exceeded' || reason === 'server_full';
    const message = hasNumbers ? refusal.reason : REFUSED_ATTEMPTS[reason];
    this.#refused(encoder, { reason, message, streamId: stream.id, userId: stream.userId }, stream.userId);
  }

  /** Notes that an encoder sends media that cannot be used. @param message the sentence that the encoder was sent */
  unplayable(encoder: Encoder, { id, userId }: Stream, message: string | undefined): void {
    const reason = 'media_unplayable';
    this.#refused(encoder, { reason, message: message ?? REFUSED_ATTEMPTS[reason], streamId: id, userId }, userId);
  }

  /** Notes that an accepted publisher was lost or disconnected. */
  disconnected(encoder: Encoder, { id: streamId, userId }: Stream, { reason, connectedAt, cause }: PublisherEnd): void {
    const tell = (repeats: Repeats): void => {
      this.#options.happened({
        id: newEventId(),
        type: 'publish.disconnected',
        at: repeats.until,
        streamId,
        sessionId: undefined,
        payload: {
          reason,
          message: DISCONNECTED_ATTEMPTS[reason],
          ...sourceFields(sourceOf(encoder)),
          ...repeats,
          connectedAt,
          ...(cause !== undefined && { cause }),
        },
      });
    };
    this.#events.happened(userId, streamId, `disconnected ${reason}`, tell);
  }

  /** Waits for the lookups, and then stores the events of the repeats that were counted. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    await Promise.all(this.#lookups);
    this.#strangersEvents[Symbol.dispose]();
    this.#events[Symbol.dispose]();
  }

  /** @param sender the user whose valid key the encoder sent; undefined for anybody else */
  #refused(encoder: Encoder, attribution: Attribution, sender?: UserId): void {
    const { reason, message, streamId, userId, replacedAt } = attribution;
    const source = sourceOf(encoder);
    const at = this.#options.clock.now();
    const attempt: RefusedPublish = { ...source, reason, message, streamId, userId, at };
    this.#recent.note(attempt);
    this.#announce(attempt);
    if (streamId === undefined) return;
    const tell = (repeats: Repeats): void => {
      this.#options.happened({
        id: newEventId(),
        type: 'publish.refused',
        at: repeats.until,
        streamId,
        sessionId: undefined,
        payload: {
          reason,
          message,
          ...sourceFields(source),
          ...repeats,
          ...(replacedAt !== undefined && { replacedAt }),
        },
      });
    };
    if (sender === undefined) this.#strangersEvents.happened(STRANGERS, streamId, `refused ${reason}`, tell);
    else this.#events.happened(sender, streamId, `refused ${reason}`, tell);
  }

  /** Tells the other nodes, where there may be some. */
  #announce(attempt: RefusedPublish): void {
    const { store, nodeId, logger } = this.#options;
    if (!store.isShared || !this.#announced.take('').allowed) return;
    store
      .announce({ type: 'publish_refused', nodeId, attempt: JSON.stringify(attempt) })
      .catch((error: unknown) => logger.debug({ err: error }, 'a refused publisher could not be announced'));
  }
}

const sourceOf = ({ protocol, remoteAddress, encoder }: Encoder): AttemptSource => ({
  protocol,
  address: remoteAddress,
  encoder,
});

const sourceFields = ({ protocol, address, encoder }: AttemptSource) => ({
  protocol,
  address,
  ...(encoder !== undefined && { encoder }),
});
