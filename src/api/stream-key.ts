/**
 * Who may see a stream key: decided here and nowhere else.
 */
import type { Stream } from '#domain/stream.ts';
import type { Caller } from './authenticate.ts';
import { isInScope } from './scope.ts';

/** The stream key as a field of an answer, or no field. */
export interface StreamKeyField {
  readonly streamKey?: string;
}

/**
 * Whether a caller may see and use the key of a stream: the stream must belong to the caller's user, or to the users that an admin asked
 * for, and the rules of the API key must allow `publish` on it.
 */
export function mayUseStreamKey({ scope, mayPublish }: Caller, stream: Stream): boolean {
  return isInScope(scope, stream.userId) && mayPublish(stream.id);
}

/**
 * The key of a stream for a caller that may use it, otherwise nothing. Sessions, playback information and whatever else describes a stream
 * never show it.
 */
export function streamKeyFor(caller: Caller, stream: Stream): StreamKeyField {
  return mayUseStreamKey(caller, stream) ? newStreamKeyOf(stream) : {};
}

/** The key of a stream for the caller that has just created this key. Whoever may create a key is shown it. */
export function newStreamKeyOf({ streamKey }: Stream): StreamKeyField {
  return { streamKey: streamKey.reveal() };
}
