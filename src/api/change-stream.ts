/**
 * Changes a stream and notes it in the audit log. What is live follows by itself: the store announces each change.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { StreamId } from '#domain/ids.ts';
import type { StreamChange } from '#store/store.ts';
import type { RouteContext } from './api.ts';
import { findStream, unknownStream } from './find-stream.ts';
import { isUuid } from './id-forms.ts';
import { NO_CONTENT, receiptOf } from './receipt.ts';

/** Fields that a running session was made with. */
const FIXED_WHILE_ACTIVE = ['profiles', 'record'] as const;

/**
 * A change of nothing is no change, but the stream must be there.
 * @throws {MillraceError} `not_found`, `invalid_request` for a session's id, `conflict` when a field is fixed while active
 */
export async function changeStream(
  { store }: Pick<RouteContext, 'store'>,
  request: FastifyRequest,
  id: string,
  change: StreamChange,
): Promise<void> {
  const scope = request.caller.scope;
  const fields = Object.keys(change);
  if (fields.length === 0) {
    await findStream({ store }, id, scope);
    return;
  }
  if (!isUuid(id)) throw await unknownStream({ store }, id, scope);
  const fixed = FIXED_WHILE_ACTIVE.filter((field) => change[field] !== undefined);
  const receipt = receiptOf(request, { action: 'stream.updated', resourceId: id, fields }, NO_CONTENT);
  const changed = await store.streams
    .change(id as StreamId, scope, change, receipt, fixed.length > 0 ? 'idle' : undefined)
    .catch((error: unknown) => {
      if (!(error instanceof MillraceError) || error.code !== 'conflict') throw error;
      throw new MillraceError(
        'conflict',
        `The stream is active, so its ${fixed.join(' and ')} cannot change now; end the broadcast first, with DELETE /stream/<id>/terminate if need be.`,
      );
    });
  if (!changed) throw await unknownStream({ store }, id, scope);
}
