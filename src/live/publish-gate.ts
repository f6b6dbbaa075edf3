/**
 * Decides who may publish: the stream key, guessing, suspension, then what the registry has room for.
 */
import { MillraceError } from '#domain/errors.ts';
import type { Stream } from '#domain/stream.ts';
import type { PublishDecision, PublishGate, PublishRequest } from '#ingest/ingest.ts';
import type { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Store } from '#store/store.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { refused, type SessionRegistry } from './session-registry.ts';

/** What the gate judges with. */
export interface PublishGateOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  /** Shared with the HTTP interface: a wrong key counts wherever it was tried. */
  readonly throttle: AttemptThrottle;
  readonly metrics: Metrics;
}

/** The gate every ingest protocol asks. */
export function createPublishGate({ store, registry, throttle, metrics }: PublishGateOptions): PublishGate {
  async function judge(request: PublishRequest, signal: AbortSignal): Promise<PublishDecision> {
    if (throttle.retryAfterS(request.remoteAddress) > 0) {
      return refused('too_many_attempts', 'Too many wrong stream keys from this address; try again in a few minutes.');
    }
    let stream: Stream | undefined;
    try {
      stream = await store.streams.byStreamKey(request.streamKey);
    } catch (error) {
      if (error instanceof MillraceError) return unavailable();
      throw error;
    }
    if (signal.aborted) return unavailable();
    if (stream === undefined) {
      throttle.failed(request.remoteAddress);
      return refused(
        'stream_key_invalid',
        'This stream key is not valid: copy it again from the stream it belongs to.',
      );
    }
    if (stream.suspended) return refused('stream_suspended', 'This stream is suspended; its owner can resume it.');
    return registry.publish(stream, request);
  }

  return {
    async publish(request, { signal }) {
      const decision = await judge(request, signal);
      if (!decision.accepted) metrics.refusals.inc({ code: decision.refusal.code });
      return decision;
    },
  };
}

function unavailable(): PublishDecision {
  return refused('service_unavailable', 'The server cannot check stream keys right now; try again in a moment.');
}
