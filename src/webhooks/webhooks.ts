/**
 * The contract of webhooks: what the API may ask of the part that delivers events to them.
 */
import type { Stream } from '#domain/stream.ts';
import type { Webhook, WebhookLog } from '#domain/webhook.ts';
import type { DeliveryOutcome } from '#store/store.ts';

/** Shows a stream as receivers are to see it. Holds no stream key. */
export type PresentStream = (stream: Stream) => object;

/** Sends what was sent before once more. */
export interface Resending {
  /**
   * Makes one more attempt now, and returns what came of it; nothing is stored.
   * @throws {MillraceError} `not_found` when the event is not kept any more
   */
  resend(webhook: Webhook, entry: WebhookLog): Promise<DeliveryOutcome>;
}
