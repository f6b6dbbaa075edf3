/**
 * Entries of the audit log.
 */
import { Type } from 'typebox';
import { AUDIT_ACTIONS } from '#domain/audit.ts';
import { API_TOKEN_ID, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** One change somebody made. */
export const AuditEntrySchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    createdAt: Type.Integer({ description: `${MILLISECONDS}.` }),
    action: Type.Unsafe<(typeof AUDIT_ACTIONS)[number]>({ type: 'string', enum: [...AUDIT_ACTIONS] }),
    resourceId: Type.String({ format: 'uuid', description: 'Id of the stream, API key or user that was changed.' }),
    fields: Type.Array(Type.String(), { description: 'Names of the fields that were changed, for an update.' }),
    actor: Type.Optional(
      Type.Object(
        {
          userId: Type.String({ format: 'uuid' }),
          tokenId: Type.String({ format: 'uuid', description: 'Id of the API key.' }),
          tokenName: Type.String({ description: 'Its name.' }),
        },
        { description: 'Who did it. Absent: the operator, on the command line.' },
      ),
    ),
    address: Type.Optional(Type.String({ description: 'Where the request came from. Absent for the command line.' })),
    requestId: Type.Optional(
      Type.String({ description: 'As in the logs of the server. Absent for the command line.' }),
    ),
  },
  {
    $id: 'AuditEntry',
    examples: [
      {
        id: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e12',
        createdAt: 1_795_175_107_399,
        action: 'user.updated',
        resourceId: USER_ID,
        fields: ['suspended'],
        actor: {
          userId: '0199a1b0-2f6d-7b1c-8a44-6d0f3e5c7b90',
          tokenId: API_TOKEN_ID,
          tokenName: 'default',
        },
        address: '198.51.100.7',
        requestId: 'k3v9w0qa-1f',
      },
    ],
  },
);
