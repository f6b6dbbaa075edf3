/**
 * `DELETE /webhook/<id>` and `DELETE /webhook`.
 */
import type { ApiRoute } from '#api/api.ts';
import { findWebhook, unknownWebhook } from '#api/find-webhook.ts';
import { presentWebhook } from '#api/present-webhook.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { webhookIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { WebhookIdsSchema, WebhookSchema } from '#api/schemas/webhook.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type WebhookId } from '#domain/ids.ts';

const one = {
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description:
    'No further events are sent to the webhook, except a few whose requests a server has already prepared. The answer is the deleted webhook, as clients of the reference service expect.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(WebhookSchema), 404),
};

/** Deletes one webhook. */
export const deleteWebhook: ApiRoute = (api, context) => {
  api.delete('/webhook/:id', { schema: one, onRequest: context.authenticate }, async (request) => {
    const { caller, params } = request;
    const webhook = await findWebhook(context, params.id, caller.scope);
    const body = presentWebhook(webhook, caller);
    const change = { action: 'webhook.deleted', resourceId: webhook.id } as const;
    const receipt = receiptOf(request, change, { status: 200, body });
    if (!(await context.store.webhooks.delete([webhook.id], caller.scope, [receipt]))) throw unknownWebhook();
    return body;
  });
};

const many = {
  operationId: 'deleteWebhooks',
  summary: 'Delete webhooks',
  description: 'Deletes all of the webhooks, or none when one of the ids is unknown.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  querystring: SCOPE_QUERY,
  body: ref(WebhookIdsSchema),
  response: answers(204, NOTHING, 404),
};

/** Deletes several webhooks, all or none. */
export const deleteWebhooks: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/webhook', { schema: many, onRequest: authenticate }, async (request, reply) => {
    // The ids are sorted, so that two requests for the same webhooks cannot deadlock.
    const ids = request.body.ids.toSorted() as WebhookId[];
    const receipts = ids.map((resourceId, index) =>
      receiptOf(request, { action: 'webhook.deleted', resourceId }, index === 0 ? NO_CONTENT : undefined),
    );
    if (ids.every(isUuid) && (await store.webhooks.delete(ids, request.caller.scope, receipts))) {
      return reply.code(204).send();
    }
    throw new MillraceError(
      'not_found',
      'Nothing was deleted, because you have no webhook with one of the ids; list yours with GET /webhook.',
    );
  });
};
