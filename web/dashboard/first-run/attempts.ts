/**
 * The attempts of encoders that failed, from the events of a stream.
 */
import { sentence } from '../../shared/format.ts';
import type { Attempt, ServiceEvent } from '../../shared/types.ts';

/** A failed attempt. */
export interface FailedAttempt {
  readonly id: string;
  /** The name that the encoder gives itself. */
  readonly encoder: string | undefined;
  readonly address: string;
  /** A sentence with what to change. */
  readonly message: string;
  /** When it was last tried, in milliseconds since 1970. */
  readonly at: number;
  readonly count: number;
}

/** How long an attempt with an unknown key is shown. */
const STRANGE_MS = 120_000;

/** How many are shown. */
const MAX_SHOWN = 3;

/** The attempts among events, newest first, as events are. What happened before the stream was live again is past. */
export function attemptsOf(
  events: readonly Pick<ServiceEvent, 'id' | 'type' | 'createdAt' | 'payload'>[],
): readonly FailedAttempt[] {
  const attempts: FailedAttempt[] = [];
  for (const { id, type, createdAt, payload } of events) {
    if (type === 'stream.started') break;
    if ((type as string) !== 'publish.refused' && (type as string) !== 'publish.disconnected') continue;
    const { encoder, address, message, until, count } = payload as unknown as Readonly<Record<string, unknown>>;
    attempts.push({
      id,
      encoder: typeof encoder === 'string' ? encoder : undefined,
      address: String(address),
      message: sentence(String(message)),
      at: typeof until === 'number' ? until : createdAt,
      count: typeof count === 'number' ? count : 1,
    });
  }
  return attempts.slice(0, MAX_SHOWN);
}

/** Attempts from this browser's own address with a key that belongs to no stream: most likely this user's, mistyped. */
export function strangeAttempts(attempts: readonly Attempt[], now: number): readonly FailedAttempt[] {
  return attempts
    .filter(({ streamId, isFromHere, lastAt }) => streamId === undefined && isFromHere && lastAt > now - STRANGE_MS)
    .slice(0, 1)
    .map(({ encoder, address, message, lastAt, count }) => ({
      id: `strange ${address}`,
      encoder,
      address: `your address, ${address}`,
      message: sentence(message),
      at: lastAt,
      count,
    }));
}
