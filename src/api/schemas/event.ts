/**
 * Events in the API.
 */
import type { TSchema } from 'typebox';
import { EVENTS, type EventType, type ServiceEvent } from '#domain/events.ts';
import { Type } from '#lib/schema.ts';
import { PLAYBACK_ID, SESSION_ID, STREAM_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** An event type. */
export const EventTypeSchema = Type.Unsafe<EventType>({ type: 'string', enum: Object.keys(EVENTS) });

/** One event. */
export interface EventObject {
  readonly id: string;
  readonly type: EventType;
  readonly createdAt: number;
  readonly sequence: number;
  readonly streamId?: string;
  readonly sessionId?: string;
  readonly payload: ServiceEvent['payload'];
}

const common = {
  id: Type.String({ format: 'uuid', description: 'The id of the event, which is the same in every delivery.' }),
  createdAt: Type.Integer({ description: `When the event happened, in ${MILLISECONDS}.` }),
  sequence: Type.Integer({
    description:
      'The position of the event in the list. Later events have larger numbers, with gaps between them. After a fault, such as an outage of the database, an event may have a later position than its time suggests. Events of one stream are always in order.',
  }),
  streamId: Type.Optional(
    Type.String({ format: 'uuid', description: 'The id of the stream that the event is about.' }),
  ),
  sessionId: Type.Optional(
    Type.String({ format: 'uuid', description: 'The id of the session that the event is about.' }),
  ),
};

const ofType = ([type, { meaning, payload }]: [string, { readonly meaning: string; readonly payload: TSchema }]) =>
  Type.Object(
    { ...common, type: Type.Literal(type, { type: 'string' }), payload },
    { title: type, description: meaning },
  );

/** Any event. The payload depends on the type. */
export const EventSchema = Type.Unsafe<EventObject>({
  $id: 'Event',
  description: 'Something that happened to a stream or one of its sessions.',
  oneOf: Object.entries(EVENTS).map(ofType),
  examples: [
    {
      id: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e21',
      type: 'stream.created',
      createdAt: 1_795_175_107_399,
      sequence: 4711,
      streamId: STREAM_ID,
      payload: { name: 'the evening show', playbackId: PLAYBACK_ID },
    },
    {
      id: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e22',
      type: 'session.started',
      createdAt: 1_795_175_207_125,
      sequence: 4719,
      streamId: STREAM_ID,
      sessionId: SESSION_ID,
      payload: { isResumed: false },
    },
  ],
});
