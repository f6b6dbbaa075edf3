/**
 * API keys in the API, where they are called tokens.
 */
import { Type } from '#lib/schema.ts';
import { AccessSchema } from './access.ts';
import { NameSchema } from './name.ts';
import { ref } from './ref.ts';
import { API_TOKEN_ID, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** What a client sends to create an API key. */
export const NewApiTokenSchema = Type.Object(
  {
    name: Type.Optional(NameSchema),
    access: Type.Optional(ref(AccessSchema)),
    userId: Type.Optional(
      Type.String({
        description:
          'the id of the user that the key is for. Leave it out for yourself; only an admin may name another user.',
      }),
    ),
  },
  {
    $id: 'NewApiToken',
    additionalProperties: false,
    examples: [{ name: 'dashboard', access: { rules: [{ resources: ['stream', 'stream/:id'], methods: ['get'] }] } }],
  },
);

const EXAMPLE = {
  id: API_TOKEN_ID,
  kind: 'api-token' as const,
  name: 'dashboard',
  userId: USER_ID,
  createdAt: 1_795_175_107_399,
  lastSeen: 1_795_178_640_120,
  access: { rules: [{ resources: ['stream', 'stream/:id'], methods: ['get' as const] }] },
};

const FIELDS = {
  id: Type.String({ format: 'uuid', description: 'The id of the API key. It is not a secret.' }),
  kind: Type.Literal('api-token', { type: 'string' }),
  name: Type.String({
    description: 'The name of the API key. No other key of the user that is not revoked has the same name.',
  }),
  userId: Type.String({ format: 'uuid', description: 'The id of the user that the API key acts for.' }),
  createdAt: Type.Integer({ description: `When the API key was created, in ${MILLISECONDS}.` }),
  lastSeen: Type.Integer({
    description: `When the key was last used, in ${MILLISECONDS}, accurate to one minute. 0 means never.`,
  }),
  access: Type.Optional(ref(AccessSchema)),
};

/** An API key without its secret. */
export const ApiTokenSchema = Type.Object(FIELDS, { $id: 'ApiToken', examples: [EXAMPLE] });

/** An API key that has just been created. Only this answer holds the secret. */
export const CreatedApiTokenSchema = Type.Object(
  { ...FIELDS, key: Type.String({ description: 'The API key itself. It is shown only in this answer, so store it.' }) },
  {
    $id: 'CreatedApiToken',
    examples: [{ ...EXAMPLE, lastSeen: 0, key: 'millrace_q1mRzY0Wc0lZbq1i9m3eYw7Xn5o2t8uTfVh4kJd6aLs' }],
  },
);
