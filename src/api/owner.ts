/**
 * Recognises by an API key whether a request for playback comes from the owner of what it asks for.
 */
import type { FastifyRequest } from 'fastify';
import type { UserId } from '#domain/ids.ts';
import type { ApiOptions } from './api.ts';
import { presentedKey } from './presented-key.ts';

/**
 * Makes the function that finds out whether a request has an API key of this user or of an admin, without access rules. A wrong key counts
 * as a failed attempt of its address, as in the API.
 */
export function createIsOwner({
  store,
  throttle,
}: Pick<ApiOptions, 'store' | 'throttle'>): (request: FastifyRequest, userId: UserId) => Promise<boolean> {
  return async (request, userId) => {
    if (request.headers.authorization === undefined) return false;
    const hash = presentedKey(request).hash();
    const { found } = await throttle.attempt(request.ip, () => store.apiKeys.byHash(hash, request.ip));
    if (found === undefined) return false;
    const { key, user } = found;
    return !user.suspended && key.access === undefined && (user.id === userId || user.isAdmin);
  };
}
