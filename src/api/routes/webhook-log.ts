/**
 * `GET /webhook/<id>/log`, `GET /webhook/<id>/log/<logId>` and `POST /webhook/<id>/log/<logId>/resend`.
 */

import type { ApiRoute, RouteContext } from '#api/api.ts';
import { readTimes } from '#api/event-query.ts';
import { findWebhook } from '#api/find-webhook.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentWebhookLog } from '#api/present-webhook.ts';
import { documentedOnly, type RawQuery, readFlag, readText, refused } from '#api/query.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { EventTypeSchema } from '#api/schemas/event.ts';
import { PAGE_QUERY, SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { webhookIdParams, webhookLogIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { WebhookLogSchema } from '#api/schemas/webhook.ts';
import { MillraceError } from '#domain/errors.ts';
import { isEventType } from '#domain/events.ts';
import { isUuid, type WebhookLogId } from '#domain/ids.ts';
import type { Webhook, WebhookLog } from '#domain/webhook.ts';
import { Type } from '#lib/schema.ts';
import type { Scope } from '#store/page.ts';

const time = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, description, examples: [1_795_175_107_399] }));

const list = {
  operationId: 'listWebhookLog',
  summary: 'List the requests that were sent to a webhook',
  description:
    'Lists requests newest first, for as long as the operator keeps them. The `Link` header leads to the next page.',
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookIdParams,
  querystring: Type.Object({
    ...PAGE_QUERY,
    success: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['1', 'true', '0', 'false'],
        description: '`0` lists only requests that failed, `1` only requests that succeeded.',
      }),
    ),
    type: Type.Optional({ ...EventTypeSchema, description: 'Lists only requests with events of this type.' }),
    from: time('Lists only requests sent at this time or later, in milliseconds since the Unix epoch.'),
    to: time('Lists only requests sent at this time or earlier, in milliseconds since the Unix epoch.'),
    ...SCOPE_QUERY.properties,
  }),
  response: answers(200, Type.Array(ref(WebhookLogSchema)), 404),
};

/** Lists the requests that were sent to a webhook. */
export const listWebhookLog: ApiRoute = (api, context) => {
  const options = { schema: list, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/webhook/:id/log', options, async (request, reply) => {
    const query = request.query as RawQuery;
    const webhook = await findWebhook(context, (request.params as { id: string }).id, request.caller.scope);
    const [success, type] = [readFlag(query, 'success'), readText(query, 'type')];
    if (type !== undefined && !isEventType(type)) throw refused('type', 'must be one event type');
    const filter = {
      ...(success !== undefined && { success }),
      ...(type !== undefined && { type }),
      ...readTimes(query),
    };
    const page = await context.store.webhooks.log(webhook.id, filter, readPage(query, 'webhook-log'));
    linkNext(request, reply, context, {
      path: `/webhook/${webhook.id}/log`,
      list: 'webhook-log',
      next: page.next,
    });
    return page.rows.map(presentWebhookLog);
  });
};

const common = {
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  params: webhookLogIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(WebhookLogSchema), 404),
};

const get = {
  ...common,
  operationId: 'getWebhookLog',
  summary: 'Get a request that was sent to a webhook',
  description: 'Gives the request with its headers and body, and the beginning of the response. Secrets are left out.',
};

/** Answers with one request. */
export const getWebhookLog: ApiRoute = (api, context) => {
  api.get('/webhook/:id/log/:logId', { schema: get, onRequest: context.authenticate }, async (request) => {
    const { id, logId } = request.params;
    return presentWebhookLog((await findEntry(context, id, logId, request.caller.scope)).entry);
  });
};

const resend = {
  ...common,
  operationId: 'resendWebhookLog',
  summary: 'Send an event to a webhook again',
  description:
    'Sends the event of this request now, whether it was delivered or not, and even if the webhook is disabled. It has the same event id and payload as before, and a new timestamp and signature. The answer comes after the receiver has answered; `success` says whether the delivery succeeded.',
};

/** Sends the event of a logged request again. */
export const resendWebhookLog: ApiRoute = (api, context) => {
  const options = { schema: resend, onRequest: context.authenticate };
  api.post('/webhook/:id/log/:logId/resend', options, async (request) => {
    const { id, logId } = request.params;
    const { webhook, entry } = await findEntry(context, id, logId, request.caller.scope);
    const outcome = await context.resending.resend(webhook, entry);
    const body = presentWebhookLog(outcome.log);
    const change = { action: 'webhook.resent', resourceId: webhook.id } as const;
    await context.store.webhooks.resent(outcome, receiptOf(request, change, { status: 200, body }));
    return body;
  });
};

async function findEntry(
  context: RouteContext,
  id: string,
  logId: string,
  scope: Scope,
): Promise<{ readonly webhook: Webhook; readonly entry: WebhookLog }> {
  const webhook = await findWebhook(context, id, scope);
  const entry = isUuid(logId) ? await context.store.webhooks.logEntry(logId as WebhookLogId, scope) : undefined;
  if (entry !== undefined && entry.webhookId === webhook.id) return { webhook, entry };
  throw new MillraceError(
    'not_found',
    'The log of this webhook has no entry with this id; list its entries with GET /webhook/<id>/log.',
  );
}
