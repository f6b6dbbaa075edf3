/**
 * The body of a delivery: the fields of the reference service, and in addition the place of the event in the order of all events.
 */
import type { ServiceEvent } from '#domain/events.ts';
import type { WebhookId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The fields of payloads that hold URLs. The store does not know the origin, so their URLs begin at the server's root. */
const URL_FIELDS: readonly string[] = ['recordingUrl', 'mp4Url', 'playbackUrl', 'downloadUrl'];

/**
 * Makes the text of the body, which is sent and signed.
 * @param stream the stream in the form for receivers; undefined for an event without one
 * @param at the time of the attempt
 * @param publicUrl the origin of the server for URLs in the payload; without it, they begin at the server's root
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
    payload: publicUrl === undefined ? event.payload : withOrigin(event.payload, publicUrl),
  });
}

/** A payload whose URLs have their origin. */
function withOrigin(payload: object, origin: string): object {
  const entries = Object.entries(payload).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return [name, withOrigin(value, origin)];
    return [name, URL_FIELDS.includes(name) && typeof value === 'string' ? origin + value : value];
  });
  return Object.fromEntries(entries) as object;
}
