/**
 * A token with which the owner may watch.
 */
import { Type } from '#lib/schema.ts';
import { MILLISECONDS } from './text.ts';

/** A token with which the owner may watch. */
export const OwnerTokenSchema = Type.Object(
  {
    token: Type.String({
      description: 'Secret. It is sent where viewers send their playback token, for example as `?jwt=`.',
    }),
    expiresAt: Type.Integer({ description: `When the token expires, in ${MILLISECONDS}.` }),
  },
  {
    $id: 'OwnerToken',
    examples: [
      {
        token: 'owner.k.019aa5d2-6f1e-7c3b-9a8d-4e2f1b0c7d65.moz4t2k0.qIYc0a5w3V2nR8kXf1uGdT7hLs9pEjB4mZoC6xNvy0Q',
        expiresAt: 1_795_218_317_402,
      },
    ],
  },
);
