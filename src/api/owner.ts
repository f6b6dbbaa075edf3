/**
 * Recognises the owner of what a viewer asks for, by an API key.
 */
import type { FastifyRequest } from 'fastify';
import type { UserId } from '#domain/ids.ts';
import type { ApiOptions } from './api.ts';
import { presentedKey } from './presented-key.ts';

/**
 * Makes the function that tells whether a request shows an API key without access rules of that user or of an admin. Wrong keys count
 * against the address as they do in the API.
 */
export function createIsOwner({
  store,
  throttle,
}: Pick<ApiOptions, 'store' | 'throttle'>): (request: FastifyRequest, userId: UserId) => Promise<boolean> {
  return async (request, userId) => {
    if (request.headers.authorization === undefined || throttle.retryAfterS(request.ip) > 0) return false;
    const found = await store.apiKeys.byHash(presentedKey(request).hash());
    if (found === undefined) {
      throttle.failed(request.ip);
      return false;
    }
    const { key, user } = found;
    return !user.suspended && key.access === undefined && (user.id === userId || user.isAdmin);
  };
}
