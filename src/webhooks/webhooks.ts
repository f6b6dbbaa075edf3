/**
 * The contract of webhooks: what the API may ask of the part that delivers events to them.
 */
import type { Stream } from '#domain/stream.ts';
import type { Webhook, WebhookLog } from '#domain/webhook.ts';
import type { DeliveryOutcome } from '#store/webhook-store.ts';

/** Presents a stream to receivers, without its stream key. */
export type PresentStream = (stream: Stream) => object;

/** Sends again what was sent before. */
export interface Resending {
  /**
   * Makes one more attempt now, and returns its result. Nothing is stored.
   * @throws {MillraceError} `not_found` when the event has been deleted; `too_many_requests` while the user is sending too many others again
   */
  resend(webhook: Webhook, entry: WebhookLog): Promise<DeliveryOutcome>;
}
