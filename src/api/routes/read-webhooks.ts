/**
 * `GET /webhook`, `GET /webhook/<id>` and `GET /webhook/subscribed/<event>`.
 */

import type { ApiRoute } from '#api/api.ts';
import { findWebhook } from '#api/find-webhook.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentWebhook } from '#api/present-webhook.ts';
import { documentedOnly, type RawQuery, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { ADMIN_QUERY, PAGE_QUERY, SCOPE_QUERY, USER_QUERY } from '#api/schemas/list-query.ts';
import { webhookIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { WebhookSchema } from '#api/schemas/webhook.ts';
import { MillraceError } from '#domain/errors.ts';
import { isWebhookEventType } from '#domain/events.ts';
import { Type } from '#lib/schema.ts';

/** The largest number of subscribed webhooks in an answer. */
const MAX_SUBSCRIBED = 1000;

const list = {
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: 'Lists your webhooks, newest first. The `Link` header leads to the next page.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...PAGE_QUERY, ...ADMIN_QUERY }),
  response: answers(200, Type.Array(ref(WebhookSchema))),
};

/** Lists webhooks. */
export const listWebhooks: ApiRoute = (api, context) => {
  const options = { schema: list, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/webhook', options, async (request, reply) => {
    const { caller } = request;
    const page = await context.store.webhooks.list(caller.scope, readPage(request.query as RawQuery, 'webhook'));
    linkNext(request, reply, context, { path: '/webhook', list: 'webhook', next: page.next });
    return page.rows.map((webhook) => presentWebhook(webhook, caller));
  });
};

const get = {
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  description: 'The answer has `sharedSecret` only if the API key may change this webhook.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(WebhookSchema), 404),
};

/** Answers with one webhook. */
export const getWebhook: ApiRoute = (api, context) => {
  api.get('/webhook/:id', { schema: get, onRequest: context.authenticate }, async (request) => {
    const { caller, params } = request;
    return presentWebhook(await findWebhook(context, params.id, caller.scope), caller);
  });
};

const subscribed = {
  operationId: 'listSubscribedWebhooks',
  summary: 'List the webhooks that get events of a type',
  description: 'Lists your webhooks that get events of this type, newest first, including disabled ones.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: Type.Object({ event: Type.String({ description: 'An event type.', examples: ['stream.started'] }) }),
  querystring: Type.Object(USER_QUERY),
  response: answers(200, Type.Array(ref(WebhookSchema)), 404),
};

/** Lists the webhooks that get events of one type. */
export const listSubscribedWebhooks: ApiRoute = (api, context) => {
  const options = { schema: subscribed, onRequest: context.authenticate };
  api.get('/webhook/subscribed/:event', options, async (request) => {
    const { caller, params } = request;
    if (!isWebhookEventType(params.event)) {
      throw new MillraceError(
        'not_found',
        'There is no such event type; see /docs/events-and-webhooks on this server for the types.',
      );
    }
    const { scope } = caller;
    if (scope === 'everyone') throw refused('all', 'cannot be used here; name one user with userId');
    const found = await context.store.webhooks.ofEvent(scope, params.event, MAX_SUBSCRIBED);
    return found.map((webhook) => presentWebhook(webhook, caller));
  });
};
