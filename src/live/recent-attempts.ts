/**
 * The refused attempts to publish of the last day, whether or not they belong to a stream. They are only in memory.
 */
import { type AttemptSource, REFUSED_ATTEMPTS, type RefusedAttempt } from '#domain/attempt.ts';
import type { StreamId, UserId } from '#domain/ids.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import { networkOf } from '#lib/network-of.ts';
import type { Milliseconds } from '#lib/units.ts';

/** How long an attempt is remembered after it was last repeated. */
const KEPT_MS = 24 * 3600 * 1000;
/** The largest number of attempts remembered. A new one displaces the one that was repeated longest ago. */
const MAX_ATTEMPTS = 1000;

/** A refused attempt. */
export interface RefusedPublish extends AttemptSource {
  readonly reason: RefusedAttempt;
  /** A sentence for the user of the encoder. */
  readonly message: string;
  /** The stream that the encoder was meant for. Undefined when nothing says so. */
  readonly streamId: StreamId | undefined;
  /** The user of the stream, or of the API key that was sent as the stream key. */
  readonly userId: UserId | undefined;
  readonly at: Milliseconds;
}

/** A refused attempt with its repeats: those of the same network, for the same reason and stream. */
export interface RecentAttempt extends RefusedPublish {
  readonly count: number;
  /** When it was tried first. `at` is when it was tried last. */
  readonly firstAt: Milliseconds;
}

/** Remembers attempts. */
export class RecentAttempts {
  readonly #attempts = new BoundedMap<string, RecentAttempt>(MAX_ATTEMPTS);

  /** Notes an attempt, as a repeat if there was one of the same network for the same reason and stream. */
  note(attempt: RefusedPublish): void {
    const key = [networkOf(attempt.address), attempt.reason, attempt.streamId ?? ''].join(' ');
    const known = this.#attempts.get(key);
    this.#attempts.set(key, {
      ...attempt,
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? attempt.at,
    });
  }

  /** The attempts of the last day before `now`, the latest first. */
  list(now: Milliseconds): readonly RecentAttempt[] {
    for (const [key, { at }] of this.#attempts) {
      if (at >= now - KEPT_MS) break;
      this.#attempts.delete(key);
    }
    return [...this.#attempts.values()].reverse();
  }
}

/** Parses an attempt that another node has announced. Undefined when it does not have the form that this version sends. */
export function refusedPublishOf(text: string): RefusedPublish | undefined {
  const told = fieldsOf(text);
  const { reason, address, protocol, message, at } = told;
  if (typeof reason !== 'string' || !Object.hasOwn(REFUSED_ATTEMPTS, reason) || typeof at !== 'number')
    return undefined;
  const isWhole = [address, protocol, message].every((field) => typeof field === 'string');
  return isWhole ? (told as unknown as RefusedPublish) : undefined;
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
