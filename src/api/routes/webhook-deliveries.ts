/**
 * `GET /webhook/<id>/delivery` and `POST /webhook/<id>/resend`.
 */

import type { ApiRoute } from '#api/api.ts';
import { findWebhook, unknownWebhook } from '#api/find-webhook.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentDelivery } from '#api/present-webhook.ts';
import { documentedOnly, type RawQuery, readText, refused } from '#api/query.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { PAGE_QUERY, SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { webhookIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { ResendSchema, WebhookDeliverySchema } from '#api/schemas/webhook.ts';
import { DELIVERY_STATES, type DeliveryState } from '#domain/webhook.ts';
import { Type } from '#lib/schema.ts';
import { ms } from '#lib/units.ts';

const list = {
  operationId: 'listWebhookDeliveries',
  summary: 'List the events that could not be delivered to a webhook yet',
  description: 'Lists the deliveries that are still being tried and those that were given up, the latest event first.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: Type.Object({
    ...PAGE_QUERY,
    state: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: [...DELIVERY_STATES],
        description: 'Lists only deliveries in this state.',
      }),
    ),
    ...SCOPE_QUERY.properties,
  }),
  response: answers(200, Type.Array(ref(WebhookDeliverySchema)), 404),
};

/** Lists the deliveries that have not succeeded. */
export const listWebhookDeliveries: ApiRoute = (api, context) => {
  const options = { schema: list, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/webhook/:id/delivery', options, async (request, reply) => {
    const query = request.query as RawQuery;
    const webhook = await findWebhook(context, (request.params as { id: string }).id, request.caller.scope);
    const state = readState(query);
    const { rows, next } = await context.store.webhooks.deliveries(
      webhook.id,
      { ...(state !== undefined && { state }) },
      readPage(query, 'webhook-delivery'),
    );
    linkNext(request, reply, context, {
      path: `/webhook/${webhook.id}/delivery`,
      list: 'webhook-delivery',
      next,
    });
    return rows.map(presentDelivery);
  });
};

const resend = {
  operationId: 'resendWebhookDeliveries',
  summary: 'Send all failed deliveries again',
  description:
    'Deliveries of events that were added to the list at `since` or later, and that failed or were given up, are sent again now and are tried for another three days. Events that were delivered are not sent again.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: SCOPE_QUERY,
  body: ref(ResendSchema),
  response: answers(204, NOTHING, 404),
};

/** Makes all failed deliveries due. */
export const resendWebhookDeliveries: ApiRoute = (api, context) => {
  api.post('/webhook/:id/resend', { schema: resend, onRequest: context.authenticate }, async (request, reply) => {
    const webhook = await findWebhook(context, request.params.id, request.caller.scope);
    const receipt = receiptOf(request, { action: 'webhook.resent', resourceId: webhook.id }, NO_CONTENT);
    const { webhooks } = context.store;
    if (!(await webhooks.resendSince(webhook.id, ms(request.body.since), receipt))) throw unknownWebhook();
    return reply.code(204).send();
  });
};

function readState(query: RawQuery): DeliveryState | undefined {
  const text = readText(query, 'state');
  const state = DELIVERY_STATES.find((each) => each === text);
  if (text !== undefined && state === undefined) throw refused('state', `must be ${DELIVERY_STATES.join(' or ')}`);
  return state;
}
