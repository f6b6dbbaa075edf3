/**
 * Users over HTTP.
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
    admin: Type.Optional(Type.Boolean({ description: 'true for one who manages users, or false or nothing.' })),
    quotas: Type.Optional(QuotaChangeSchema),
  },
  { $id: 'NewUser', additionalProperties: false, examples: [{ name: 'ann' }] },
);

/** What an admin may change on a user. */
export const UserChangeSchema = Type.Object(
  {
    name: Type.Optional(NameSchema),
    admin: Type.Optional(Type.Boolean({ description: 'true or false; one active admin must be left.' })),
    suspended: Type.Optional(
      Type.Boolean({ description: 'true to refuse the keys and publishers of the user, false to let them in again.' }),
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
    name: Type.String({ description: 'Unique.' }),
    admin: Type.Boolean({ description: 'Manages users, reads the audit log and does what any owner may.' }),
    suspended: Type.Boolean({ description: 'Its API keys are refused, and so are publishers to its streams.' }),
    createdAt: Type.Integer({ description: `${MILLISECONDS}.` }),
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
          viewers: 10_000,
          webhooks: 50,
          eventStreams: 50,
          requestsPerMinute: 12_000,
        },
        usage: { streams: 12, apiKeys: 2, publishers: 3, transcodes: 1, mediaMemoryMib: 160, viewers: 870 },
      },
    ],
  },
);
