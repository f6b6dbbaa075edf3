/**
 * Decides who may publish. It checks whether the address has sent too many wrong keys, whether the stream key is valid, whether the stream
 * or its user is suspended, the registry's limits, how often the user's publishers begin, and whether another node has a publisher of the
 * stream.
 */
import { MillraceError } from '#domain/errors.ts';
import type { StreamId, UserId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Stream } from '#domain/stream.ts';
import type { User } from '#domain/user.ts';
import {
  NO_DECISION,
  type PublishDecision,
  type PublishGate,
  type PublishRequest,
  REFUSAL_CODES,
  type Refusal,
} from '#ingest/ingest.ts';
import type { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';
import { QuotaBuckets } from '#lib/token-buckets.ts';
import type { Store } from '#store/store.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { ObservedPublication } from './observed-publication.ts';
import type { PublishAttempts } from './publish-attempts.ts';
import type { PublisherClaims } from './publisher-claims.ts';
import { STREAM_KEY_IN_USE } from './publishers.ts';
import type { SessionRegistry } from './session-registry.ts';

/** The options of the gate. */
export interface PublishGateOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  /** The quotas of users who have none of their own. */
  readonly quotas: Quotas;
  /** The number of publishers accepted at the same time. */
  readonly maxPublishers: number;
  readonly clock: Clock;
  /** The throttle shared with the HTTP interface. A wrong key counts wherever it was tried. */
  readonly throttle: AttemptThrottle;
  readonly metrics: Metrics;
  /** Learns of every publisher that is refused or lost. */
  readonly attempts: Pick<PublishAttempts, 'wrongKey' | 'throttled' | 'refused' | 'unplayable' | 'disconnected'>;
  /** Undefined when no other node can have the stream's publisher. */
  readonly claims: PublisherClaims | undefined;
  /** Called with the stream of a valid key before its publisher is accepted or refused, so that a test picture makes room for it. */
  readonly onArriving: (streamId: StreamId, protocol: string) => void;
  /** Called with the stream of every accepted publisher, as the gate read it, as soon as the publisher is in the registry. */
  readonly onAccepted: (stream: Stream) => void;
}

/** Makes the gate that every ingest protocol asks. */
export function createPublishGate(options: PublishGateOptions): PublishGate {
  const { store, registry, quotas: defaults, maxPublishers, throttle, metrics, claims, onAccepted } = options;
  const { attempts, clock } = options;
  const starts = new QuotaBuckets(options.clock);
  // A series must exist at 0, because Prometheus sees no increase where one begins with the first refusals.
  for (const code of REFUSAL_CODES) metrics.refusals.inc({ code }, 0);

  async function judge(request: PublishRequest, signal: AbortSignal): Promise<PublishDecision> {
    const { remoteAddress, streamKey } = request;
    const { waitS, found: stream } = await throttle.attempt(remoteAddress, () =>
      store.streams.byStreamKey(streamKey, encoderAt(remoteAddress)),
    );
    if (signal.aborted) return NO_DECISION;
    if (waitS > 0) {
      attempts.throttled(request);
      return refused('too_many_attempts', 'Too many wrong stream keys from this address; try again in a few minutes.');
    }
    if (stream === undefined) {
      attempts.wrongKey(request, request.streamKey);
      return refused(
        'stream_key_invalid',
        'This stream key is not valid: copy it again from the stream it belongs to.',
      );
    }
    const owner = await store.users.get(stream.userId);
    if (signal.aborted) return NO_DECISION;
    options.onArriving(stream.id, request.protocol);
    const isUserSuspended = !stream.suspended && owner?.suspended === true;
    const decision = await judgeStream({ stream, owner, request }, signal);
    if (!decision.accepted) attempts.refused(request, stream, decision.refusal, isUserSuspended);
    return decision;
  }

  /** Decides on the publisher of a stream. */
  async function judgeStream(
    {
      stream,
      owner,
      request,
    }: { readonly stream: Stream; readonly owner: User | undefined; readonly request: PublishRequest },
    signal: AbortSignal,
  ): Promise<PublishDecision> {
    if (stream.suspended) return refused('stream_suspended', 'This stream is suspended; its owner can resume it.');
    if (owner?.suspended) return refused('stream_suspended', 'The account this stream belongs to is suspended.');
    const quotas = owner === undefined ? defaults : quotasOf(owner, defaults);
    const refusal = registry.refusalOf(stream, quotas) ?? tooOften(stream.userId, quotas);
    if (refusal !== undefined) return { accepted: false, refusal };
    // Taken before the claim, so that a user whose publishers begin too often causes no work for the store and the other nodes.
    let decision: PublishDecision = NO_DECISION;
    try {
      decision =
        claims === undefined
          ? publishHere({ stream, request, quotas })
          : await publishClaimed(claims, { stream, request, quotas }, signal);
    } finally {
      if (!decision.accepted) starts.giveBack(stream.userId);
    }
    return decision;
  }

  /**
   * Why a publisher of this user may not begin yet. Each start may write a session into the store, so starts are limited. All publishers
   * that a user may have can begin at once, because after a network failure they come back together.
   */
  function tooOften(userId: UserId, { publishers, publishesPerMinute: perMinute }: Quotas): Refusal | undefined {
    if (perMinute === 0) return undefined;
    const atOnce = Math.max(perMinute, publishers === 0 ? maxPublishers : publishers);
    const { allowed, retryAfterS } = starts.take(userId, { perMinute, atOnce });
    if (allowed) return undefined;
    const reason = `The publishers of this account began more than ${perMinute} times in a minute, which is the limit; try again in ${retryAfterS} s.`;
    return { code: 'quota_exceeded', reason };
  }

  /** Accepts the publisher, and reports its end to the owner. */
  function publishHere({ stream, request, quotas }: Publish): PublishDecision {
    const connectedAt = clock.now();
    let observed: ObservedPublication | undefined;
    const disconnect = (refusal: Refusal): void => {
      observed?.disconnectedFor(refusal);
      request.disconnect(refusal);
    };
    const decision = registry.publish(stream, { ...request, disconnect }, quotas);
    if (!decision.accepted) return decision;
    onAccepted(stream);
    observed = new ObservedPublication(decision.publication, (end) => {
      if (end.type === 'unplayable') attempts.unplayable(request, stream, end.message);
      else attempts.disconnected(request, stream, { ...end, connectedAt });
    });
    return { accepted: true, publication: observed };
  }

  /** Claims the stream for this node first, and releases it when the publisher is refused. */
  async function publishClaimed(
    claims: PublisherClaims,
    { stream, request, quotas }: Publish,
    signal: AbortSignal,
  ): Promise<PublishDecision> {
    if (!(await claims.claim(stream.id))) return { accepted: false, refusal: STREAM_KEY_IN_USE };
    const decision = signal.aborted ? NO_DECISION : publishHere({ stream, request, quotas });
    if (!registry.publishers.has(stream.id)) claims.release(stream.id);
    return decision;
  }

  async function decide(request: PublishRequest, signal: AbortSignal): Promise<PublishDecision> {
    try {
      return await judge(request, signal);
    } catch (error) {
      if (error instanceof MillraceError) return NO_DECISION;
      throw error;
    }
  }

  return {
    async publish(request, { signal }) {
      const decision = await decide(request, signal);
      if (!decision.accepted) metrics.refusals.inc({ code: decision.refusal.code });
      return decision;
    },
    addressInvalid({ text, ...encoder }) {
      // Not counted as a guess, because the publisher does not learn whether a key in it is right.
      if (throttle.retryAfterS(encoder.remoteAddress) === 0) attempts.wrongKey(encoder, text, 'address_invalid');
    },
  };
}

/**
 * The network that the lookups of an encoder count for. It is apart from the network of its viewers' lookups, because at a venue the
 * encoder and a crowd of viewers may have the same address.
 */
const encoderAt = (address: string): string => `encoders at ${networkOf(address)}`;

/** A request to publish a stream, with the quotas of the stream's user. */
interface Publish {
  readonly stream: Stream;
  readonly request: PublishRequest;
  readonly quotas: Quotas;
}

function refused(code: Refusal['code'], reason: string): PublishDecision {
  return { accepted: false, refusal: { code, reason } };
}
