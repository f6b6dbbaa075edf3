/**
 * `POST /webhook/<id>/test`.
 */

import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { findWebhook, unknownWebhook } from '#api/find-webhook.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { webhookIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { WebhookTestSchema } from '#api/schemas/webhook.ts';
import { MillraceError } from '#domain/errors.ts';
import { newEventId } from '#domain/ids.ts';

const schema = {
  operationId: 'testWebhook',
  summary: 'Send a test event to a webhook',
  description:
    'Sends an event of the type `webhook.test` to this webhook, whatever its `events` and `streamId` are, and to no other. It is an event like all others: it is in the list of events, is signed, and is tried again when it fails. The answer does not wait for the receiver: the request appears soon in `GET /webhook/<id>/log`, with the `eventId` of this answer. A disabled webhook is answered with 409.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(WebhookTestSchema), 404, 409),
};

/** Adds a test event for one webhook. */
export const testWebhook: ApiRoute = (api, context) => {
  api.post('/webhook/:id/test', { schema, onRequest: context.authenticate }, async (request) => {
    const webhook = await findWebhook(context, request.params.id, request.caller.scope);
    if (webhook.disabled !== undefined) {
      throw new MillraceError(
        'conflict',
        'This webhook is disabled, so nothing is sent to it; enable it with PATCH /webhook/<id> {"disabled":false}.',
      );
    }
    const event = {
      id: newEventId(),
      type: 'webhook.test',
      at: request.caller.at,
      userId: webhook.userId,
      streamId: undefined,
      sessionId: undefined,
      payload: { webhookId: webhook.id },
    } as const;
    const body: Static<typeof WebhookTestSchema> = {
      webhookId: webhook.id,
      eventId: event.id,
      event: event.type,
      state: 'pending',
      attempts: 0,
      createdAt: event.at,
    };
    const receipt = receiptOf(request, { action: 'webhook.tested', resourceId: webhook.id }, { status: 200, body });
    if (!(await context.store.webhooks.test(event, receipt))) throw unknownWebhook();
    return body;
  });
};
