/**
 * Reads the filter of a query for events.
 */

import { isEventType } from '#domain/events.ts';
import { isUuid, type StreamId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';
import { ms } from '#lib/units.ts';
import type { Scope } from '#store/page.ts';
import type { EventFilter } from '#store/store.ts';
import { type RawQuery, readInteger, readText, refused } from './query.ts';
import { EventTypeSchema } from './schemas/event.ts';
import { idQuery } from './schemas/list-query.ts';
import { STREAM_ID } from './schemas/sample-ids.ts';

/** The query parameters, for the OpenAPI document. */
export const EVENT_QUERY = {
  type: Type.Optional({
    ...EventTypeSchema,
    description: 'Only events of this type. With `all`, it also needs `streamId`.',
  }),
  streamId: idQuery('Only events of this stream.', STREAM_ID),
};

/** Reads the filter of the query, except its times. */
export function readEventFilter(query: RawQuery, scope: Scope): EventFilter {
  const [type, streamId] = [readText(query, 'type'), readText(query, 'streamId')];
  if (type !== undefined && !isEventType(type)) throw refused('type', 'must be one event type');
  if (streamId !== undefined && !isUuid(streamId)) throw refused('streamId', 'must be the id of a stream');
  if (type !== undefined && scope === 'everyone' && streamId === undefined) {
    throw refused('type', 'cannot be combined with all; name one user with userId, or a stream with streamId');
  }
  return {
    ...(type !== undefined && { type }),
    ...(streamId !== undefined && { streamId: streamId as StreamId }),
  };
}

/** Reads a sequence number or a time. */
export function readNumber(query: RawQuery, name: string): number | undefined {
  return readInteger(query, name, { min: 0, max: Number.MAX_SAFE_INTEGER });
}

/** Reads the times between which events are wanted. */
export function readTimes(query: RawQuery): Pick<EventFilter, 'from' | 'to'> {
  const [from, to] = [readNumber(query, 'from'), readNumber(query, 'to')];
  return { ...(from !== undefined && { from: ms(from) }), ...(to !== undefined && { to: ms(to) }) };
}
