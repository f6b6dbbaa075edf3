/**
 * Who may watch a stream, as its owner sets and sees it.
 */
import type { Static } from 'typebox';
import { POLICY_TYPES } from '#domain/playback-policy.ts';
import { Type } from '#lib/schema.ts';
import { STORABLE } from './text.ts';

const ORIGIN = 'an origin such as https://example.com, or * for every page.';

/** A playback policy. */
export const PlaybackPolicySchema = Type.Object(
  {
    type: Type.Unsafe<(typeof POLICY_TYPES)[number]>({
      type: 'string',
      enum: [...POLICY_TYPES],
      description:
        'public: everybody may watch. jwt: only with a token signed by one of your signing keys. webhook: only whom your server lets in.',
    }),
    webhookId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: STORABLE,
        description:
          'the id of one of your webhooks, whose URL is asked about each viewer; needed by the type webhook.',
      }),
    ),
    webhookContext: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description: 'an object of at most 4096 characters as JSON, which is sent to that URL as it is.',
      }),
    ),
    refreshInterval: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 86_400,
        description: 'seconds, 1 to 86400, for which an answer of that URL counts; 600 when left out.',
      }),
    ),
    allowedOrigins: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 300, pattern: STORABLE, description: ORIGIN }), {
        maxItems: 100,
        description: 'at most 100 origins of the pages that may play it; an empty list stands for every page.',
      }),
    ),
  },
  {
    $id: 'PlaybackPolicy',
    additionalProperties: false,
    description: 'null or an object with a type: who may watch. null stands for everybody.',
    examples: [
      { type: 'public' },
      { type: 'jwt', allowedOrigins: ['https://example.com'] },
      { type: 'webhook', webhookId: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e14', refreshInterval: 60 },
    ],
  },
);

/** As a field of a request: null takes the policy away. Written out, since a reference with an alternative gets no clear error sentence. */
const { $id: _, examples: __, ...form } = PlaybackPolicySchema as typeof PlaybackPolicySchema & Record<string, unknown>;
export const playbackPolicyField = Type.Optional(
  Type.Unsafe<Static<typeof PlaybackPolicySchema> | null>({ ...form, type: ['object', 'null'] }),
);
