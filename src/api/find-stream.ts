/**
 * Finds what a request names, for those who may know of it.
 */
import { MillraceError } from '#domain/errors.ts';
import type { SessionId, StreamId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import type { Scope } from '#store/store.ts';
import type { RouteContext } from './api.ts';
import { isUuid } from './id-forms.ts';

type Records = Pick<RouteContext, 'store'>;

/**
 * A stream in that scope.
 * @throws {MillraceError} as {@link unknownStream}
 */
export async function findStream({ store }: Records, id: string, scope: Scope): Promise<Stream> {
  const stream = isUuid(id) ? await store.streams.get(id as StreamId, scope) : undefined;
  if (stream) return stream;
  throw await unknownStream({ store }, id, scope);
}

/** The error for an id that is no stream's in that scope: `invalid_request` for a session's, else `not_found`. */
export async function unknownStream({ store }: Records, id: string, scope: Scope): Promise<MillraceError> {
  const session = isUuid(id) ? await store.sessions.get(id as SessionId, scope) : undefined;
  return session
    ? new MillraceError(
        'invalid_request',
        'That id is of a session, which cannot be changed; send the id of its stream.',
      )
    : new MillraceError('not_found', 'You have no stream of that id; list yours with GET /stream.');
}
