/**
 * Presents events to the user that they belong to.
 */
import type { ServiceEvent } from '#domain/events.ts';
import type { EventObject } from './schemas/event.ts';

/** Presents an event. No part of it is secret. */
export function presentEvent(event: ServiceEvent): EventObject {
  const { id, type, at, sequence, streamId, sessionId, payload } = event;
  return {
    id,
    type,
    createdAt: at,
    sequence,
    ...(streamId !== undefined && { streamId }),
    ...(sessionId !== undefined && { sessionId }),
    payload,
  };
}
