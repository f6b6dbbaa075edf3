/**
 * The body of a delivery: the reference service's, with what tells the order of events.
 */
import type { ServiceEvent } from '#domain/events.ts';
import type { WebhookId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';

/**
 * The text that is sent and signed.
 * @param stream as receivers are to see it; undefined for an event that is about none
 * @param at when the attempt is made
 */
export function requestBody(
  event: ServiceEvent,
  webhookId: WebhookId,
  stream: object | undefined,
  at: Milliseconds,
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
    payload: event.payload,
  });
}
