/**
 * The playback policy of a stream as its owner sets and sees it.
 */
import type { Static } from 'typebox';
import { POLICY_TYPES } from '#domain/playback-policy.ts';
import { Type } from '#lib/schema.ts';
import { STORABLE } from './text.ts';

const ORIGIN = 'an origin such as https://example.com, or * for every page.';

/** The playback policy of a stream. */
export const PlaybackPolicySchema = Type.Object(
  {
    type: Type.Unsafe<(typeof POLICY_TYPES)[number]>({
      type: 'string',
      enum: [...POLICY_TYPES],
      description:
        'the kind of policy: with public everybody may watch, with jwt viewers need a token signed by one of your signing keys, with webhook your server is asked about each viewer.',
    }),
    webhookId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: STORABLE,
        description:
          'the id of one of your webhooks, whose URL is asked about each viewer; required with the type webhook.',
      }),
    ),
    webhookContext: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description: 'an object of at most 4096 characters as JSON, which is sent unchanged to the URL of the webhook.',
      }),
    ),
    refreshInterval: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 86_400,
        description:
          'the number of seconds, 1 to 86400, for which an answer of the webhook is valid; the default is 600.',
      }),
    ),
    allowedOrigins: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 300, pattern: STORABLE, description: ORIGIN }), {
        maxItems: 100,
        description:
          'a list of at most 100 origins of pages that may play the stream; an empty list allows every page.',
      }),
    ),
  },
  {
    $id: 'PlaybackPolicy',
    additionalProperties: false,
    description: 'an object with a type that says who may watch, or null to let everybody watch.',
    examples: [
      { type: 'public' },
      { type: 'jwt', allowedOrigins: ['https://example.com'] },
      { type: 'webhook', webhookId: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e14', refreshInterval: 60 },
    ],
  },
);

const { $id: _, examples: __, ...form } = PlaybackPolicySchema as typeof PlaybackPolicySchema & Record<string, unknown>;
/**
 * The policy as a field of a request, where null removes it. The schema is written out, because for a reference with an alternative the
 * validator gives no clear error text.
 */
export const playbackPolicyField = Type.Optional(
  Type.Unsafe<Static<typeof PlaybackPolicySchema> | null>({ ...form, type: ['object', 'null'] }),
);
