/**
 * Browser sessions in the API.
 */
import { Type } from '#lib/schema.ts';
import { API_TOKEN_ID, BROWSER_SESSION_ID, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** A browser that is signed in to the dashboard. */
export const BrowserSessionSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The id of the browser session. It is not a secret.' }),
    kind: Type.Literal('browser-session', { type: 'string' }),
    userId: Type.String({ format: 'uuid', description: 'The id of the user who is signed in.' }),
    tokenId: Type.Optional(
      Type.String({
        format: 'uuid',
        description:
          'The id of the API key that was used to sign in. The session has the rules of that key and ends with it. Absent for a session that began with a sign-in link, which may do everything that its user may do.',
      }),
    ),
    createdAt: Type.Integer({ description: `When the browser signed in, in ${MILLISECONDS}.` }),
    lastSeen: Type.Integer({
      description: `When the session was last used, in ${MILLISECONDS}, accurate to ten minutes. The session ends after 12 hours without use, unless it was made with an API key that may only read (each rule has only the method \`get\`).`,
    }),
    address: Type.String({ description: 'The address that the session was last used from.' }),
    isCurrent: Type.Boolean({ description: 'Whether this request was made by the session.' }),
  },
  {
    $id: 'BrowserSession',
    examples: [
      {
        id: BROWSER_SESSION_ID,
        kind: 'browser-session' as const,
        userId: USER_ID,
        tokenId: API_TOKEN_ID,
        createdAt: 1_795_175_107_399,
        lastSeen: 1_795_178_640_120,
        address: '192.0.2.17',
        isCurrent: false,
      },
    ],
  },
);
