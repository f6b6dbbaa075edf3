/**
 * Webhooks in the API.
 */
import type { Static } from 'typebox';
import { EVENTS, SILENT_EVENT_TYPES, type WebhookEventType } from '#domain/events.ts';
import { DELIVERY_STATES, type DeliveryState, type WebhookDisabledReason } from '#domain/webhook.ts';
import { Type } from '#lib/schema.ts';
import { EventTypeSchema } from './event.ts';
import { STREAM_ID, USER_ID, WEBHOOK_ID, WEBHOOK_LOG_ID } from './sample-ids.ts';
import { MILLISECONDS, PRINTABLE, STORABLE } from './text.ts';

const name = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: PRINTABLE,
  description: 'text of 1 to 512 printable characters.',
});
const url = Type.String({
  maxLength: 2048,
  pattern: STORABLE,
  description:
    'an http or https URL of at most 2048 characters, without a user and password, that leads to a public address.',
});
/** A type that a webhook may name. */
const WebhookEventTypeSchema = Type.Unsafe<WebhookEventType>({
  type: 'string',
  enum: [...Object.keys(EVENTS), ...SILENT_EVENT_TYPES],
});
/** For the documentation of operations that accept types. */
export const ABOUT_SILENT_TYPES = `These types of Livepeer Studio are accepted and never sent: ${SILENT_EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}.`;
const events = Type.Array(WebhookEventTypeSchema, {
  maxItems: 64,
  uniqueItems: true,
  description: 'a list of different event types.',
});
const sharedSecret = Type.String({
  minLength: 16,
  maxLength: 256,
  pattern: '^[!-~]*$',
  description: 'text of 16 to 256 ASCII characters without white space.',
});
const streamId = Type.String({ maxLength: 36, description: 'the id of one of your streams.' });

/** Body of `POST /webhook`. */
export const NewWebhookSchema = Type.Object(
  { name, url, events, sharedSecret: Type.Optional(sharedSecret), streamId: Type.Optional(streamId) },
  {
    $id: 'NewWebhook',
    additionalProperties: false,
    examples: [{ name: 'shop', url: 'https://shop.example/hooks/live', events: ['stream.started', 'stream.idle'] }],
  },
);

/** Body of `PATCH /webhook/<id>`. Fields that are left out stay as they are. */
export const WebhookChangeSchema = Type.Object(
  {
    name: Type.Optional(name),
    url: Type.Optional(url),
    events: Type.Optional(events),
    sharedSecret: Type.Optional(sharedSecret),
    streamId: Type.Optional(
      Type.Union([streamId, Type.Null()], { description: 'the id of one of your streams, or null for all of them.' }),
    ),
    disabled: Type.Optional(
      Type.Boolean({
        description:
          'true to stop deliveries, false to resume them and send those that waited. Events that happen while the webhook is disabled are never sent.',
      }),
    ),
  },
  { $id: 'WebhookChange', additionalProperties: false, examples: [{ events: ['session.ended'] }, { disabled: false }] },
);

/** Body of `PUT /webhook/<id>`. */
export const WebhookReplacementSchema = Type.Object(
  { ...WebhookChangeSchema.properties, name, url },
  {
    $id: 'WebhookReplacement',
    additionalProperties: false,
    examples: [{ name: 'shop', url: 'https://shop.example/hooks/live', events: ['session.ended'] }],
  },
);

/** Body of `DELETE /webhook`. */
export const WebhookIdsSchema = Type.Object(
  {
    ids: Type.Array(Type.String({ maxLength: 36, description: 'the id of a webhook.' }), {
      minItems: 1,
      maxItems: 1000,
      uniqueItems: true,
      description: 'a list of 1 to 1000 different ids of webhooks.',
    }),
  },
  { $id: 'WebhookIds', additionalProperties: false, examples: [{ ids: [WEBHOOK_ID] }] },
);

/** A webhook. */
export const WebhookSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.Literal('webhook', { type: 'string' }),
    userId: Type.String({ format: 'uuid', description: 'The id of the user that the webhook belongs to.' }),
    createdAt: Type.Integer({ description: `When the webhook was created, in ${MILLISECONDS}.` }),
    name: Type.String(),
    url: Type.String(),
    events: Type.Array(WebhookEventTypeSchema, {
      description: `The types of events that are sent to the webhook. ${ABOUT_SILENT_TYPES}`,
    }),
    streamId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The id of the only stream whose events are sent. Absent when the events of all streams are sent.',
      }),
    ),
    sharedSecret: Type.Optional(
      Type.String({
        description:
          'The secret that deliveries are signed with. Absent for an API key whose rules do not allow it to change the webhook.',
      }),
    ),
    disabled: Type.Boolean({ description: 'Whether deliveries are stopped.' }),
    disabledReason: Type.Optional(
      Type.Unsafe<WebhookDisabledReason>({
        type: 'string',
        enum: ['user', 'gone', 'too_many_deliveries'],
        description:
          '`gone`: the receiver answered 410. `too_many_deliveries`: more than 100,000 deliveries were waiting. Absent unless disabled.',
      }),
    ),
    status: Type.Object({
      lastTriggeredAt: Type.Optional(
        Type.Integer({ description: `When a request was last sent, in ${MILLISECONDS}.` }),
      ),
      lastFailure: Type.Optional(
        Type.Object({
          timestamp: Type.Integer({ description: `When the request failed, in ${MILLISECONDS}.` }),
          statusCode: Type.Optional(
            Type.Integer({ description: 'The status of the answer. Absent when there was no answer.' }),
          ),
          error: Type.String({ description: 'Why the request failed, as a sentence.' }),
        }),
      ),
    }),
  },
  {
    $id: 'Webhook',
    examples: [
      {
        id: WEBHOOK_ID,
        kind: 'webhook' as const,
        userId: USER_ID,
        createdAt: 1_795_175_107_399,
        name: 'shop',
        url: 'https://shop.example/hooks/live',
        events: ['stream.started' as const, 'stream.idle' as const],
        sharedSecret: '2v8c9hq0jn6t1wkz5m3e7yxr4d0p8s6g',
        disabled: false,
        status: { lastTriggeredAt: 1_795_178_640_120 },
      },
    ],
  },
);

/** One request that was sent to a webhook. */
export const WebhookLogSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    webhookId: Type.String({ format: 'uuid' }),
    userId: Type.String({ format: 'uuid' }),
    eventId: Type.String({ format: 'uuid', description: 'The id of the event that was sent.' }),
    event: EventTypeSchema,
    streamId: Type.Optional(Type.String({ format: 'uuid' })),
    createdAt: Type.Integer({ description: `When the request was sent, in ${MILLISECONDS}.` }),
    duration: Type.Number({ description: 'Seconds until the request was answered or timed out.' }),
    success: Type.Boolean({ description: 'Whether the answer was 2xx.' }),
    attempt: Type.Integer({ description: 'The number of the attempt at this delivery, beginning with 1.' }),
    error: Type.Optional(Type.String({ description: 'Why the request failed, as a sentence.' })),
    request: Type.Object({
      url: Type.String(),
      method: Type.Literal('POST', { type: 'string' }),
      headers: Type.Record(Type.String(), Type.String(), {
        description: 'The headers of the request, without the signatures.',
      }),
      body: Type.String({ description: 'The first 4,096 bytes of the body that was sent.' }),
    }),
    response: Type.Optional(
      Type.Object(
        {
          status: Type.Integer(),
          statusText: Type.String(),
          redirected: Type.Boolean({ description: 'Always false: redirects are not followed.' }),
          body: Type.String({ description: 'Base64 of the first 1024 bytes of the body.' }),
        },
        { description: 'The answer of the receiver. Absent when there was none.' },
      ),
    ),
  },
  {
    $id: 'WebhookLog',
    examples: [
      {
        id: WEBHOOK_LOG_ID,
        webhookId: WEBHOOK_ID,
        userId: USER_ID,
        eventId: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e21',
        event: 'stream.started' as const,
        streamId: STREAM_ID,
        createdAt: 1_795_178_640_120,
        duration: 0.041,
        success: true,
        attempt: 1,
        request: {
          url: 'https://shop.example/hooks/live',
          method: 'POST' as const,
          headers: { 'content-type': 'application/json', 'user-agent': 'millrace' },
          body: '{"id":"0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e21"}',
        },
        response: { status: 200, statusText: 'OK', redirected: false, body: 'b2s=' },
      },
    ],
  },
);

/** A delivery that has not succeeded. */
export const WebhookDeliverySchema = Type.Object(
  {
    webhookId: Type.String({ format: 'uuid' }),
    eventId: Type.String({ format: 'uuid' }),
    event: EventTypeSchema,
    streamId: Type.Optional(Type.String({ format: 'uuid' })),
    sequence: Type.Integer({ description: 'The position of the event in the list of events.' }),
    state: Type.Unsafe<DeliveryState>({
      type: 'string',
      enum: [...DELIVERY_STATES],
      description:
        '`pending`: the event will be sent or sent again. `dead`: the delivery was given up, and the event is sent again only on request.',
    }),
    attempts: Type.Integer({ description: 'The number of failed attempts.' }),
    createdAt: Type.Integer({
      description: `When the event was added to the deliveries of the webhook, in ${MILLISECONDS}.`,
    }),
    nextAttemptAt: Type.Optional(
      Type.Integer({
        description: `When the next attempt will be made, in ${MILLISECONDS}. Absent when the delivery was given up.`,
      }),
    ),
  },
  {
    $id: 'WebhookDelivery',
    examples: [
      {
        webhookId: WEBHOOK_ID,
        eventId: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e21',
        event: 'stream.started' as const,
        streamId: STREAM_ID,
        sequence: 4711,
        state: 'dead' as const,
        attempts: 31,
        createdAt: 1_795_175_107_399,
      },
    ],
  },
);

/** The delivery of a test event that was requested just now. */
export const WebhookTestSchema = Type.Object(
  {
    webhookId: Type.String({ format: 'uuid' }),
    eventId: Type.String({
      format: 'uuid',
      description: 'The id of the event, by which the request and its answer are found in the log of the webhook.',
    }),
    event: Type.Literal('webhook.test', { type: 'string' }),
    state: Type.Literal('pending', { type: 'string' }),
    attempts: Type.Integer({ description: 'The number of failed attempts: 0.' }),
    createdAt: Type.Integer({ description: `When the test was requested, in ${MILLISECONDS}.` }),
  },
  {
    $id: 'WebhookTest',
    examples: [
      {
        webhookId: WEBHOOK_ID,
        eventId: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e25',
        event: 'webhook.test' as const,
        state: 'pending' as const,
        attempts: 0,
        createdAt: 1_795_175_107_399,
      },
    ],
  },
);

/** Body of `POST /webhook/<id>/resend`. */
export const ResendSchema = Type.Object(
  { since: Type.Integer({ minimum: 0, description: `a time in ${MILLISECONDS}, as a whole number.` }) },
  { $id: 'Resend', additionalProperties: false, examples: [{ since: 1_795_175_107_399 }] },
);

/** The fields of a change as they are received. */
export type WebhookChangeBody = Static<typeof WebhookChangeSchema>;
