/**
 * The catalogue of events: everything that a user is told about what happens to its streams.
 */
import type { Static, TInteger, TOptional, TSchema } from 'typebox';
import { Type } from '#lib/schema.ts';
import type { Milliseconds } from '#lib/units.ts';
import { DISCONNECTED_ATTEMPTS, type DisconnectedAttempt, REFUSED_ATTEMPTS, type RefusedAttempt } from './attempt.ts';
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
const URL = {
  description:
    'A URL that begins at the root of the server. Webhooks get it with the origin, when the operator has set that. Absent when there is nothing to play.',
};

/** The fields of a warning about a number. */
export const MEASURED = {
  actual: Type.Optional(Type.Number({ description: 'What was measured, for a warning about a number.' })),
  expected: Type.Optional(Type.Number({ description: 'What it should be.' })),
  unit: Type.Optional(Type.String({ description: 'The unit of both, such as `s`.' })),
};

/** The fields of an event about an encoder, by which its user recognises it. */
const ENCODER = {
  message: Type.String({ description: 'A sentence for people, with what to change.' }),
  protocol: Type.String({ description: '`rtmp` or `rtmps`.' }),
  address: Type.String({ description: 'The address of the encoder.' }),
  encoder: Type.Optional(Type.String({ description: 'The name that the encoder gives itself.' })),
  count: Type.Integer({ description: 'How often this happened between `from` and `until`.' }),
  from: Type.Integer({ description: 'When it happened first, in milliseconds since the Unix epoch.' }),
  until: Type.Integer({ description: 'When it happened last, in milliseconds since the Unix epoch.' }),
};

const warningCode = Type.Unsafe<WarningCode>({ type: 'string', enum: Object.keys(WARNINGS) });

/** The payload of events about a recording, in the shape of the reference service. */
const recordingOf = <Status extends 'waiting' | 'ready' | 'failed'>(...statuses: readonly Status[]) =>
  Type.Object({
    assetId: Type.String({ description: 'The asset of the recording, which has the id of the session.' }),
    session: Type.Object({
      id: Type.String(),
      parentId: Type.String({ description: 'The id of the stream.' }),
      playbackId: Type.String({ description: 'The playback id of the stream.' }),
      record: Type.Boolean(),
      recordingStatus: Type.Unsafe<Status>({ type: 'string', enum: [...statuses] }),
      assetId: Type.String(),
      recordingUrl: Type.Optional(Type.String(URL)),
      mp4Url: Type.Optional(Type.String(URL)),
    }),
    recordingUrl: Type.Optional(Type.String(URL)),
    mp4Url: Type.Optional(Type.String(URL)),
  });

const ASSET = Type.Object({
  asset: Type.Object({
    id: Type.String(),
    playbackId: Type.String({ description: 'The playback id of the asset, which is not that of its stream.' }),
    source: Type.Object({
      type: Type.Unsafe<'recording' | 'clip'>({ type: 'string', enum: ['recording', 'clip'] }),
      sessionId: Type.String(),
    }),
    status: Type.Object({
      phase: Type.Unsafe<'waiting' | 'processing' | 'ready' | 'failed' | 'deleting' | 'deleted'>({
        type: 'string',
        enum: ['waiting', 'processing', 'ready', 'failed', 'deleting', 'deleted'],
      }),
      updatedAt: Type.Integer(TIME),
    }),
    playbackUrl: Type.Optional(Type.String(URL)),
    downloadUrl: Type.Optional(Type.String(URL)),
  }),
});

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
      ...MEASURED,
    }),
  },
  'session.warning_cleared': {
    meaning: 'A warning that was raised on a running session does not hold any more.',
    payload: Type.Object({ code: warningCode }),
  },
  'publish.refused': {
    meaning:
      'An encoder that was meant for this stream was refused. Repeats with the same reason are counted, and reported a minute later. Attempts that belong to no stream are not events; `GET /attempt` lists them.',
    payload: Type.Object({
      reason: Type.Unsafe<RefusedAttempt>({ type: 'string', enum: Object.keys(REFUSED_ATTEMPTS) }),
      ...ENCODER,
      replacedAt: Type.Optional(
        Type.Integer({
          description:
            'With the reason `key_replaced`: when the key was replaced, in milliseconds since the Unix epoch.',
        }),
      ),
    }),
  },
  'publish.disconnected': {
    meaning:
      'A publisher was lost, or was disconnected by the server. A publisher that stops by itself makes no such event, unless it sent no media at all. Repeats with the same reason are counted, and reported a minute later.',
    payload: Type.Object({
      reason: Type.Unsafe<DisconnectedAttempt>({ type: 'string', enum: Object.keys(DISCONNECTED_ATTEMPTS) }),
      ...ENCODER,
      cause: Type.Optional(
        Type.String({ description: 'What the connection ended with, such as `closed_by_peer` or `ECONNRESET`.' }),
      ),
      connectedAt: Type.Integer({
        description: 'When the publisher was accepted, in milliseconds since the Unix epoch.',
      }),
    }),
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
        { description: 'How many of them were refused for each reason.' },
      ),
    }),
  },
  'recording.started': {
    meaning: 'A session that is recorded can be watched, and so can its recording.',
    payload: recordingOf('waiting'),
  },
  'recording.waiting': {
    meaning: 'The session of a recording has ended. What was recorded is being completed.',
    payload: recordingOf('waiting', 'ready', 'failed'),
  },
  'recording.ready': { meaning: 'A recording is complete.', payload: recordingOf('ready') },
  'recording.failed': {
    meaning: 'A recording could not be completed, or nothing was recorded. The asset says why.',
    payload: recordingOf('failed'),
  },
  'asset.created': { meaning: 'A recording has begun, or a clip was made.', payload: ASSET },
  'asset.ready': { meaning: 'A recording is complete, or a clip was made.', payload: ASSET },
  'asset.deleted': { meaning: 'A recording or clip was deleted.', payload: ASSET },
  'events.dropped': {
    meaning:
      'Events of a stream were dropped, because the database was away for longer than a server can remember events. The state of streams and sessions is not affected.',
    payload: Type.Object({
      count: Type.Integer({ description: 'How many events were dropped.' }),
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
  'webhook.test': {
    meaning:
      'A test event was requested for a webhook. It is sent to that webhook whatever its `events` are, and to no other. It belongs to no stream.',
    payload: Type.Object({ webhookId: Type.String() }),
  },
} as const satisfies Record<string, EventEntry>;

/**
 * Why the server disabled a webhook: its receiver answered 410, or more deliveries waited for it than are kept.
 */
export type DisabledReason = 'gone' | 'too_many_deliveries';

/** A type of {@link EVENTS}. */
export type EventType = keyof typeof EVENTS;

/** The fields of an event of a type, besides those that all events have. */
export type EventPayload<Type extends EventType> = Static<(typeof EVENTS)[Type]['payload']>;

/** Whether a text names an event type. */
export const isEventType = (text: string): text is EventType => Object.hasOwn(EVENTS, text);

/**
 * Event types of Livepeer Studio that never happen here. Webhooks may name them, so that a webhook of Livepeer Studio can be created as it
 * is. `playback.accessControl` is no event there either: it marks a webhook that decides who may watch. It has no effect here, because a
 * playback policy names its webhook.
 */
export const SILENT_EVENT_TYPES = [
  'asset.failed',
  'asset.updated',
  'multistream.connected',
  'multistream.disconnected',
  'multistream.error',
  'playback.accessControl',
  'playback.user.new',
  'stream.detection',
  'task.completed',
  'task.failed',
  'task.spawned',
  'task.updated',
] as const;

/** A type that a webhook may name in its `events`. */
export type WebhookEventType = EventType | (typeof SILENT_EVENT_TYPES)[number];

/** Whether a webhook may name this text in its `events`. */
export const isWebhookEventType = (text: string): text is WebhookEventType =>
  isEventType(text) || SILENT_EVENT_TYPES.some((type) => type === text);

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

/** An event that has its place in the list of all events. */
export type ServiceEvent = NewEvent & {
  /**
   * Its place in the list. Every event has a larger number than all events that were readable before it. The numbers of one user's events
   * have gaps, because the events of all users are numbered together.
   */
  readonly sequence: number;
};
