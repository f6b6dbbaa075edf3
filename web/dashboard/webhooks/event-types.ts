/**
 * The events that webhooks are sent, in words.
 */
import type { EventType } from '#domain/events.ts';

/** What each event means. */
export const EVENT_TYPES: Readonly<Record<EventType, string>> = {
  'stream.created': 'A stream was created.',
  'stream.updated': 'A stream was changed.',
  'stream.deleted': 'A stream was deleted.',
  'stream.started': 'Media of a stream began to come in: isActive became true.',
  'stream.idle': 'Media of a stream stopped coming in: isActive became false.',
  'session.started': 'A session can be watched: its first part exists.',
  'session.ended': 'A session ended.',
  'session.warning': 'A warning was raised on a running session.',
  'session.warning_cleared': 'A warning that was raised on a running session was cleared.',
  'publish.refused': 'An encoder that was meant for this stream was refused.',
  'publish.disconnected': 'A publisher was lost, or was disconnected by the server.',
  'access_control.refused': 'A playback policy refused viewers of a stream.',
  'recording.started': 'A session that is recorded can be watched, and so can its recording.',
  'recording.waiting': 'The session of a recording has ended.',
  'recording.ready': 'A recording is complete.',
  'recording.failed': 'A recording could not be completed, or nothing was recorded.',
  'asset.created': 'A recording has begun, or a clip was made.',
  'asset.ready': 'A recording is complete, or a clip was made.',
  'asset.deleted': 'A recording or clip was deleted.',
  'events.dropped':
    'Events of a stream were dropped, because the database was away for longer than a server can remember events.',
  'webhook.disabled': 'A webhook was disabled by the server.',
  'webhook.test': 'A test event was requested for a webhook. Only that webhook gets it, whatever events it has chosen.',
};

/** The events that are chosen for a new webhook. */
export const USUAL_EVENTS: readonly EventType[] = ['stream.started', 'stream.idle', 'session.ended'];
