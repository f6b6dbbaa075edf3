/**
 * Users in the API.
 */
import { Type } from '#lib/schema.ts';
import { NameSchema } from './name.ts';
import { QuotaChangeSchema, QuotasSchema, UsageSchema } from './quotas.ts';
import { USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** What an admin sends to create a user. */
export const NewUserSchema = Type.Object(
  {
    name: NameSchema,
    admin: Type.Optional(Type.Boolean({ description: 'true for a user who manages users; the default is false.' })),
    quotas: Type.Optional(QuotaChangeSchema),
  },
  { $id: 'NewUser', additionalProperties: false, examples: [{ name: 'ann' }] },
);

/** What an admin may change on a user. */
export const UserChangeSchema = Type.Object(
  {
    name: Type.Optional(NameSchema),
    admin: Type.Optional(Type.Boolean({ description: 'true or false; at least one active admin must remain.' })),
    suspended: Type.Optional(
      Type.Boolean({
        description: 'true to refuse the API keys, publishers and viewers of the user, false to accept them again.',
      }),
    ),
    quotas: Type.Optional(QuotaChangeSchema),
  },
  {
    $id: 'UserChange',
    additionalProperties: false,
    examples: [{ suspended: true }, { quotas: { streams: 500, viewers: null } }],
  },
);

/** A user. */
export const UserSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.Literal('user', { type: 'string' }),
    name: Type.String({ description: 'The name of the user, which no other user has.' }),
    admin: Type.Boolean({
      description:
        'Whether the user may manage users, read the audit log, and do with every stream what its owner may do.',
    }),
    suspended: Type.Boolean({
      description: 'Whether the API keys of the user, and publishers and viewers of its streams, are refused.',
    }),
    createdAt: Type.Integer({ description: `When the user was created, in ${MILLISECONDS}.` }),
    quotas: QuotasSchema,
    usage: Type.Optional(UsageSchema),
  },
  {
    $id: 'User',
    examples: [
      {
        id: USER_ID,
        kind: 'user',
        name: 'ann',
        admin: false,
        suspended: false,
        createdAt: 1_795_175_107_399,
        quotas: {
          streams: 10_000,
          apiKeys: 100,
          publishers: 50,
          transcodes: 16,
          ingestBitrateKbps: 50_000,
          mediaMemoryMib: 1024,
          publishesPerMinute: 120,
          sessions: 10_000,
          clips: 10_000,
          recordingGib: 1000,
          viewers: 10_000,
          webhooks: 50,
          eventStreams: 50,
          requestsPerMinute: 12_000,
        },
        usage: {
          streams: 12,
          apiKeys: 2,
          clips: 31,
          recordingGib: 41.7,
          webhooks: 1,
          publishers: 3,
          transcodes: 1,
          mediaMemoryMib: 160,
          viewers: 870,
        },
      },
    ],
  },
);
