/**
 * The body of a delivery: that of the reference service, and the order of events in addition.
 */
import type { ServiceEvent } from '#domain/events.ts';
import type { WebhookId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import { withOrigin } from './absolute-urls.ts';

/**
 * Makes the text that is sent and signed.
 * @param stream the stream in the form for receivers; undefined for an event without one
 * @param at the time of the attempt
 * @param publicUrl the origin of the server, where the operator has set it
 */
export function requestBody(
  event: ServiceEvent,
  webhookId: WebhookId,
  stream: object | undefined,
  at: Milliseconds,
  publicUrl?: string,
): string {
  return JSON.stringify({
    id: event.id,
    webhookId,
    createdAt: event.at,
    timestamp: at,
    event: event.type,
    sequence: event.sequence,
    ...(event.streamId !== undefined && { streamId: event.streamId }),
    ...(event.sessionId !== undefined && { sessionId: event.sessionId }),
    ...(stream !== undefined && { stream }),
    payload: withOrigin(event.payload, publicUrl),
  });
}
