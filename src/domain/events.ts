/**
 * The catalogue of events: everything that a user is told about what happens to its streams.
 */
import type { Static, TInteger, TOptional, TSchema } from 'typebox';
import { Type } from '#lib/schema.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { EventId, SessionId, StreamId, UserId } from './ids.ts';
import { REFUSAL_REASONS } from './playback-policy.ts';
import { END_REASONS } from './session.ts';
import { WARNINGS, type WarningCode } from './warnings.ts';

/** What the catalogue says of an event type. */
interface EventEntry {
  /** For the docs: what has happened. */
  readonly meaning: string;
  /** The schema of the event's payload. */
  readonly payload: TSchema;
}

const NOTHING = Type.Object({});
const TIME = { description: 'Milliseconds since the Unix epoch.' };
const BYTES = { description: 'Bytes.' };
const SEGMENTS = { description: 'Segments.' };
const SECONDS = { description: 'Seconds of media.' };

const warningCode = Type.Unsafe<WarningCode>({ type: 'string', enum: Object.keys(WARNINGS) });

/** Every event type. Types are part of the interface: add, never rename. */
export const EVENTS = {
  'stream.created': {
    meaning: 'A stream was created.',
    payload: Type.Object({ name: Type.String(), playbackId: Type.String() }),
  },
  'stream.updated': {
    meaning: 'A stream was changed.',
    payload: Type.Object({
      fields: Type.Array(Type.String(), { description: 'Names of the fields that were changed.' }),
    }),
  },
  'stream.deleted': { meaning: 'A stream was deleted.', payload: NOTHING },
  'stream.started': { meaning: 'Media of a stream began to come in: `isActive` became true.', payload: NOTHING },
  'stream.idle': { meaning: 'Media of a stream stopped coming in: `isActive` became false.', payload: NOTHING },
  'session.started': {
    meaning: 'A session can be watched: its first part exists.',
    payload: Type.Object({
      isResumed: Type.Boolean({
        description: 'Whether the session was reported as ended before, because its server was taken for lost.',
      }),
    }),
  },
  'session.ended': {
    meaning: 'A session ended.',
    payload: Type.Object({
      reason: Type.Unsafe<(typeof END_REASONS)[number]>({ type: 'string', enum: [...END_REASONS] }),
      startedAt: Type.Integer(TIME),
      endedAt: Type.Integer(TIME),
      sourceBytes: Type.Integer(BYTES),
      sourceSegments: Type.Integer(SEGMENTS),
      sourceSegmentsDuration: Type.Number(SECONDS),
      transcodedBytes: Type.Integer(BYTES),
      transcodedSegments: Type.Integer(SEGMENTS),
      transcodedSegmentsDuration: Type.Number(SECONDS),
      peakViewers: Type.Integer({ description: 'The most viewers at one time.' }),
    }),
  },
  'session.warning': {
    meaning: 'A warning was raised on a running session. Warnings that are raised and cleared very often are left out.',
    payload: Type.Object({
      code: warningCode,
      severity: Type.Unsafe<'issue' | 'notice'>({ type: 'string', enum: ['issue', 'notice'] }),
      message: Type.String({ description: 'A sentence for people.' }),
    }),
  },
  'session.warning_cleared': {
    meaning: 'A warning that was raised on a running session does not hold any more.',
    payload: Type.Object({ code: warningCode }),
  },
  'access_control.refused': {
    meaning:
      'A playback policy refused viewers of a stream. There is at most one such event a minute for a stream and each server, however many requests were refused.',
    payload: Type.Object({
      count: Type.Integer({ description: 'How many requests for playlists and thumbnails were refused.' }),
      from: Type.Integer({ description: 'When the first of them came, in milliseconds since the Unix epoch.' }),
      until: Type.Integer({ description: 'When the last of them came, in milliseconds since the Unix epoch.' }),
      reasons: Type.Object(
        Object.fromEntries(REFUSAL_REASONS.map((reason) => [reason, Type.Optional(Type.Integer())])) as {
          [Reason in (typeof REFUSAL_REASONS)[number]]: TOptional<TInteger>;
        },
        { description: 'How many for each reason.' },
      ),
    }),
  },
  'events.dropped': {
    meaning:
      'Events of a stream were dropped, because the database was away for longer than a server can remember events. What the streams and sessions are now is right.',
    payload: Type.Object({
      count: Type.Integer({ description: 'How many.' }),
      from: Type.Integer({ description: 'When the first of them happened, in milliseconds since the Unix epoch.' }),
      until: Type.Integer({ description: 'When the last of them happened, in milliseconds since the Unix epoch.' }),
    }),
  },
  'webhook.disabled': {
    meaning: 'A webhook was disabled by the server. It belongs to no stream.',
    payload: Type.Object({
      webhookId: Type.String(),
      reason: Type.Unsafe<DisabledReason>({ type: 'string', enum: ['gone', 'too_many_deliveries'] }),
    }),
  },
} as const satisfies Record<string, EventEntry>;

/**
 * Why the server disabled a webhook: its receiver answered 410, or more deliveries waited for it than are kept.
 */
export type DisabledReason = 'gone' | 'too_many_deliveries';

/** A type of {@link EVENTS}. */
export type EventType = keyof typeof EVENTS;

/** What an event of a type tells besides its common fields. */
export type EventPayload<Type extends EventType> = Static<(typeof EVENTS)[Type]['payload']>;

/** Whether a text names an event type. */
export const isEventType = (text: string): text is EventType => Object.hasOwn(EVENTS, text);

/** Something that happened, before it has its place in the list. */
export type NewEvent<Type extends EventType = EventType> = {
  [Each in Type]: {
    /** The same for every delivery of the event. An event is stored once, however often it is written. */
    readonly id: EventId;
    readonly type: Each;
    /** When it happened. */
    readonly at: Milliseconds;
    readonly userId: UserId;
    /** Undefined for an event that is about no stream. */
    readonly streamId: StreamId | undefined;
    readonly sessionId: SessionId | undefined;
    readonly payload: EventPayload<Each>;
  };
}[Type];

/** An event about a stream, whose user the store knows. */
export type NewStreamEvent<Type extends EventType = EventType> = {
  [Each in Type]: Omit<NewEvent<Each>, 'userId' | 'streamId'> & { readonly streamId: StreamId };
}[Type];

/** An event in the list. */
export type ServiceEvent = NewEvent & {
  /**
   * Its place. Every event has a larger number than all that were readable before it. Numbers of one user's events have gaps, since all
   * users share them.
   */
  readonly sequence: number;
};
