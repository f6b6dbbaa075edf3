/**
 * Presents webhooks, their log and their deliveries to their user. Only the fields named in this file are shown.
 */

import type { Static } from 'typebox';
import type { Webhook, WebhookDelivery, WebhookLog } from '#domain/webhook.ts';
import { STATUS_CODES } from '#lib/node-http.ts';
import type { Caller } from './authenticate.ts';
import type { WebhookDeliverySchema, WebhookLogSchema, WebhookSchema } from './schemas/webhook.ts';

/** Presents a webhook. The secret is included only for a caller that may change it. */
export function presentWebhook(
  webhook: Webhook,
  { mayChangeWebhook }: Pick<Caller, 'mayChangeWebhook'>,
): Static<typeof WebhookSchema> {
  return present(webhook, mayChangeWebhook(webhook.id));
}

/** Presents a webhook with its secret to the caller that has just created it. */
export const presentNewWebhook = (webhook: Webhook): Static<typeof WebhookSchema> => present(webhook, true);

function present(webhook: Webhook, withSecret: boolean): Static<typeof WebhookSchema> {
  const { streamId, disabled, lastTriggeredAt, lastFailure } = webhook;
  return {
    id: webhook.id,
    kind: 'webhook',
    userId: webhook.userId,
    createdAt: webhook.createdAt,
    name: webhook.name,
    url: webhook.url,
    events: [...webhook.events],
    ...(streamId !== undefined && { streamId }),
    ...(withSecret && { sharedSecret: webhook.sharedSecret.reveal() }),
    disabled: disabled !== undefined,
    ...(disabled !== undefined && { disabledReason: disabled.reason }),
    status: {
      ...(lastTriggeredAt !== undefined && { lastTriggeredAt }),
      ...(lastFailure !== undefined && {
        lastFailure: {
          timestamp: lastFailure.at,
          ...(lastFailure.statusCode !== undefined && { statusCode: lastFailure.statusCode }),
          error: lastFailure.error,
        },
      }),
    },
  };
}

/** Presents an entry of the log. */
export function presentWebhookLog(entry: WebhookLog): Static<typeof WebhookLogSchema> {
  const { streamId, statusCode, error } = entry;
  return {
    id: entry.id,
    webhookId: entry.webhookId,
    userId: entry.userId,
    eventId: entry.eventId,
    event: entry.type,
    ...(streamId !== undefined && { streamId }),
    createdAt: entry.at,
    duration: entry.durationMs / 1000,
    success: entry.success,
    attempt: entry.attempt,
    ...(error !== undefined && { error }),
    request: {
      url: entry.url,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'millrace' },
      body: entry.requestBody,
    },
    ...(statusCode !== undefined && {
      response: {
        status: statusCode,
        statusText: STATUS_CODES[statusCode] ?? '',
        redirected: false,
        body: entry.responseBody,
      },
    }),
  };
}

/** Presents a delivery. */
export function presentDelivery(delivery: WebhookDelivery): Static<typeof WebhookDeliverySchema> {
  const { streamId, state } = delivery;
  return {
    webhookId: delivery.webhookId,
    eventId: delivery.eventId,
    event: delivery.type,
    ...(streamId !== undefined && { streamId }),
    sequence: delivery.sequence,
    state,
    attempts: delivery.attempts,
    createdAt: delivery.createdAt,
    ...(state === 'pending' && { nextAttemptAt: delivery.nextAttemptAt }),
  };
}
