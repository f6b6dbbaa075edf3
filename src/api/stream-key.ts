/**
 * Decides who may see a stream key. No other file does.
 */
import type { Stream } from '#domain/stream.ts';
import { isInScope } from '#store/page.ts';
import type { Caller } from './authenticate.ts';

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
 * The stream key as a field of an answer, if the caller may use the key, otherwise no field. Sessions, playback information and everything
 * else that describes a stream never contain it.
 */
export function streamKeyFor(caller: Caller, stream: Stream): StreamKeyField {
  return mayUseStreamKey(caller, stream) ? newStreamKeyOf(stream) : {};
}

/** The stream key as a field of the answer to the caller that has just created the key. Whoever may create a key may see it. */
export function newStreamKeyOf({ streamKey }: Stream): StreamKeyField {
  return { streamKey: streamKey.reveal() };
}
