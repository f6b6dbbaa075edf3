/**
 * `POST /webhook`.
 */
import type { ApiRoute } from '#api/api.ts';
import { mustBeDestination, ownStreamId } from '#api/find-webhook.ts';
import { presentNewWebhook } from '#api/present-webhook.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { ref } from '#api/schemas/ref.ts';
import { ABOUT_SILENT_TYPES, NewWebhookSchema, WebhookSchema } from '#api/schemas/webhook.ts';
import { refuseOtherScope } from '#api/scope.ts';
import { newWebhookId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { newSharedSecret, type Webhook } from '#domain/webhook.ts';

const schema = {
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description: `From now on, events of these types are sent to \`url\`, signed with \`sharedSecret\`. Each is sent again until the receiver answers with 2xx, for up to three days. If \`sharedSecret\` is left out, a random one is made. ${ABOUT_SILENT_TYPES} The answer is 200, as clients of the reference service expect.`,
  tags: ['webhook'],
  security: [{ apiKey: [] }],
  body: ref(NewWebhookSchema),
  response: answers(200, ref(WebhookSchema), 404),
};

/** Creates a webhook that belongs to the caller. */
export const createWebhook: ApiRoute = (api, context) => {
  api.post('/webhook', { schema, onRequest: context.authenticate }, async (request) => {
    const { caller, body } = request;
    const { store, clock } = context;
    refuseOtherScope(
      caller,
      'a webhook belongs to the user of the API key; create a key of that user with POST /api-token',
    );
    mustBeDestination(context, body.url);
    const webhook: Webhook = {
      id: newWebhookId(),
      userId: caller.userId,
      name: body.name,
      url: body.url,
      createdAt: clock.now(),
      events: body.events,
      streamId: body.streamId === undefined ? undefined : await ownStreamId(context, body.streamId, caller.userId),
      sharedSecret: body.sharedSecret === undefined ? newSharedSecret() : new Secret(body.sharedSecret),
      previousSecrets: [],
      disabled: undefined,
      lastTriggeredAt: undefined,
      lastFailure: undefined,
      resendAfter: undefined,
    };
    const answer = presentNewWebhook(webhook);
    const receipt = receiptOf(
      request,
      { action: 'webhook.created', resourceId: webhook.id },
      { status: 200, body: answer },
    );
    await store.webhooks.create(webhook, receipt, { atMost: caller.quotas.webhooks });
    return answer;
  });
};
