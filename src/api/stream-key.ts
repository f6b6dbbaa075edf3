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
 * Whether a caller may see and use the key of a stream: it is a stream of the caller's user, or of the users that an admin asked for,
 * and the rules of the API key allow `publish` on it.
 */
export function mayUseStreamKey({ scope, mayPublish }: Caller, stream: Stream): boolean {
  return isInScope(scope, stream.userId) && mayPublish(stream.id);
}

/**
 * The key of a stream for a caller, or nothing. Sessions, playback information and whatever else tells of a stream never show it.
 */
export function streamKeyFor(caller: Caller, stream: Stream): StreamKeyField {
  return mayUseStreamKey(caller, stream) ? newStreamKeyOf(stream) : {};
}

/** The key of a stream for the caller that has just made this key: whoever may make one gets to know it. */
export function newStreamKeyOf({ streamKey }: Stream): StreamKeyField {
  return { streamKey: streamKey.reveal() };
}
