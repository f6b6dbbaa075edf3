/**
 * Finds the stream that a request names by its id, stream key or playback id, among the streams that the caller may see.
 */
import { MillraceError } from '#domain/errors.ts';
import { isPlaybackId, isUuid, type SessionId, type StreamId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import { isInScope, type Scope } from '#store/page.ts';
import type { RouteContext } from './api.ts';
import type { Caller } from './authenticate.ts';
import { mayUseStreamKey } from './stream-key.ts';

const STREAM_KEY = /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/;

type Records = Pick<RouteContext, 'store'>;

/**
 * Finds a stream by its id within a scope.
 * @throws {MillraceError} the error of {@link unknownStream}
 */
export async function findStream({ store }: Records, id: string, scope: Scope): Promise<Stream> {
  const stream = isUuid(id) ? await store.streams.get(id as StreamId, scope) : undefined;
  if (stream) return stream;
  throw await unknownStream({ store }, id, scope);
}

/** Makes the error for an id that no stream in the scope has: `invalid_request` when it is the id of a session, otherwise `not_found`. */
export async function unknownStream({ store }: Records, id: string, scope: Scope): Promise<MillraceError> {
  const session = isUuid(id) ? await store.sessions.get(id as SessionId, scope) : undefined;
  return session
    ? new MillraceError(
        'invalid_request',
        'This id belongs to a session, which cannot be changed; send the id of its stream.',
      )
    : new MillraceError('not_found', 'You have no stream with this id; list yours with GET /stream.');
}

/** Whether a text has the form of a stream key. */
export const isStreamKey = (text: string): boolean => STREAM_KEY.test(text);

/**
 * Finds the caller's stream by its stream key. A wrong key counts as a guess from the caller's address, as it does over RTMP. So does a key
 * that the caller may not use, because otherwise an API key would allow unlimited guessing.
 * @throws {MillraceError} `too_many_attempts` once the address has guessed too often, even if this key is right
 */
export async function streamByKey(
  { store, throttle }: Pick<RouteContext, 'store' | 'throttle'>,
  key: string,
  { caller, ip }: { readonly caller: Caller; readonly ip: string },
): Promise<Stream | undefined> {
  const { waitS, found } = await throttle.attempt(ip, async () => {
    const stream = isStreamKey(key) ? await store.streams.byStreamKey(new Secret(key)) : undefined;
    return stream && mayUseStreamKey(caller, stream) ? stream : undefined;
  });
  if (waitS > 0) {
    throw new MillraceError(
      'too_many_attempts',
      `Too many wrong keys came from this address; wait ${waitS} seconds, or name the stream by its id.`,
      { retryAfterS: waitS },
    );
  }
  return found;
}

/** Finds the caller's stream by its playback id. */
export async function streamByPlaybackId(
  { store }: Pick<RouteContext, 'store'>,
  playbackId: string,
  caller: Caller,
): Promise<Stream | undefined> {
  const stream = isPlaybackId(playbackId) ? await store.streams.byPlaybackId(playbackId) : undefined;
  return stream && isInScope(caller.scope, stream.userId) ? stream : undefined;
}
