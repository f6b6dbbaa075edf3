/**
 * `PATCH /webhook/<id>` and `PUT /webhook/<id>`.
 */
import type { FastifyRequest } from 'fastify';
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { findWebhook, mustBeDestination, ownStreamId, unknownWebhook } from '#api/find-webhook.ts';
import { presentWebhook } from '#api/present-webhook.ts';
import { type Answer, NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { webhookIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import {
  type WebhookChangeBody,
  WebhookChangeSchema,
  WebhookReplacementSchema,
  WebhookSchema,
} from '#api/schemas/webhook.ts';
import { Secret } from '#domain/secret.ts';
import { replaceSecret, type Webhook } from '#domain/webhook.ts';
import type { WebhookChange } from '#store/webhook-store.ts';

const SECRETS =
  'For 24 hours after a new `sharedSecret` was set, deliveries are also signed with the one before. The signature with the new one is first. When it is set several times within 24 hours, up to ten earlier ones stay valid.';

const patch = {
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  description: `Fields that are left out stay as they are. ${SECRETS}`,
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: SCOPE_QUERY,
  body: ref(WebhookChangeSchema),
  response: answers(204, NOTHING, 404),
};

/** Changes the fields that are sent. */
export const updateWebhook: ApiRoute = (api, context) => {
  const hooks = { onRequest: context.authenticate, preValidation: absentBodyIsEmpty };
  api.patch('/webhook/:id', { schema: patch, ...hooks }, async (request, reply) => {
    await change(context, request, request.params.id, request.body, () => NO_CONTENT);
    return reply.code(204).send();
  });
};

const put = {
  operationId: 'replaceWebhook',
  summary: 'Change a webhook and get the changed webhook',
  description: `Does what \`PATCH /webhook/<id>\` does, in the form that clients of the reference service use. \`name\` and \`url\` are required. Other fields that are left out stay as they are. ${SECRETS}`,
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: SCOPE_QUERY,
  body: ref(WebhookReplacementSchema),
  response: answers(200, ref(WebhookSchema), 404),
};

/** Changes the fields that are sent, and answers with the changed webhook. */
export const replaceWebhook: ApiRoute = (api, context) => {
  api.put('/webhook/:id', { schema: put, onRequest: context.authenticate }, async (request) => {
    const answer = (webhook: Webhook) => ({ status: 200, body: presentWebhook(webhook, request.caller) });
    return answer(await change(context, request, request.params.id, request.body, answer)).body;
  });
};

/** Changes a webhook. @returns the changed webhook */
async function change(
  context: RouteContext,
  request: FastifyRequest,
  id: string,
  body: WebhookChangeBody,
  answerOf: (webhook: Webhook) => Answer,
): Promise<Webhook> {
  const { store } = context;
  const webhook = await findWebhook(context, id, request.caller.scope);
  if (body.url !== undefined) mustBeDestination(context, body.url);
  const changes = await changesOf(context, webhook, body, request.caller.at);
  const changed: Webhook = { ...webhook, ...changes };
  const fields = Object.keys(body);
  if (fields.length === 0) return webhook;
  const receipt = receiptOf(request, { action: 'webhook.updated', resourceId: webhook.id, fields }, answerOf(changed));
  if (!(await store.webhooks.change(webhook, changes, receipt))) throw unknownWebhook();
  return changed;
}

async function changesOf(
  context: RouteContext,
  webhook: Webhook,
  { name, url, events, sharedSecret, streamId, disabled }: WebhookChangeBody,
  at: Webhook['createdAt'],
): Promise<WebhookChange> {
  const secret = sharedSecret === undefined ? undefined : new Secret(sharedSecret);
  const isNewSecret = secret !== undefined && !secret.equals(webhook.sharedSecret);
  const isDisabled = webhook.disabled !== undefined;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events }),
    ...(streamId !== undefined && {
      streamId: streamId === null ? undefined : await ownStreamId(context, streamId, webhook.userId),
    }),
    ...(isNewSecret && replaceSecret(webhook, secret, at)),
    ...(disabled !== undefined &&
      disabled !== isDisabled && { disabled: disabled ? ({ at, reason: 'user' } as const) : undefined }),
  };
}
