/**
 * Entries of the audit log.
 */

import { AUDIT_ACTIONS } from '#domain/audit.ts';
import { Type } from '#lib/schema.ts';
import { API_TOKEN_ID, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** One entry of the audit log. */
export const AuditEntrySchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    createdAt: Type.Integer({ description: `When the change was made, in ${MILLISECONDS}.` }),
    action: Type.Unsafe<(typeof AUDIT_ACTIONS)[number]>({ type: 'string', enum: [...AUDIT_ACTIONS] }),
    resourceId: Type.String({
      format: 'uuid',
      description:
        'The id of what was changed, such as a stream or a user. For a sign-in link, the id of the user that it is for.',
    }),
    fields: Type.Array(Type.String(), { description: 'The names of the fields that an update changed.' }),
    actor: Type.Optional(
      Type.Object(
        {
          userId: Type.String({ format: 'uuid' }),
          tokenId: Type.String({
            format: 'uuid',
            description: 'The id of the API key, or of the browser session if that was begun with a sign-in link.',
          }),
          tokenName: Type.String({
            description:
              'The name of the API key, or `dashboard` for a browser session that was begun with a sign-in link.',
          }),
        },
        { description: 'Who made the change. Absent for changes that the operator made on the command line.' },
      ),
    ),
    address: Type.Optional(
      Type.String({ description: 'The address that the request came from. Absent for changes on the command line.' }),
    ),
    requestId: Type.Optional(
      Type.String({
        description: 'The id of the request in the logs of the server. Absent for changes on the command line.',
      }),
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
