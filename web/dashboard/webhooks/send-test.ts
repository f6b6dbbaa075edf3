/**
 * Sends a test event to a webhook, and waits a little for its answer.
 */
import { change, list } from '../../shared/api.ts';
import type { WebhookLog, WebhookTest } from '../../shared/types.ts';

/** How often, and how long after each other, the log is asked for the request. A receiver may take 15 s to answer. */
const TRIES = 40;
const EVERY_MS = 400;

/** Sends the event. Returns what came of it as a sentence. */
export async function sendTest(webhookId: string): Promise<string> {
  const { eventId } = await change<WebhookTest>('POST', `/webhook/${webhookId}/test`);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const { rows } = await list<WebhookLog>(`/webhook/${webhookId}/log?type=webhook.test&limit=10`);
    const sent = rows.find((entry) => entry.eventId === eventId);
    if (sent?.response) return `The test event was answered with ${sent.response.status} ${sent.response.statusText}.`;
    if (sent) return `The test event got no answer. ${sent.error}`;
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  return 'The test event is on its way. Its answer appears below.';
}
