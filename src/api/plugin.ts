/**
 * The JSON API as a Fastify plugin.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { limitAnswers } from './answer-limits.ts';
import type { ApiOptions } from './api.ts';
import { createAuthenticate } from './authenticate.ts';
import { createFindCredential } from './credentials.ts';
import { addDocumentation } from './documentation.ts';
import { makeRepeatable } from './idempotency.ts';
import { KeyUse } from './key-use.ts';
import { createRateLimit } from './rate-limit.ts';
import { routes } from './routes.ts';
import { SCHEMAS } from './schemas.ts';
import { StoredAnswers } from './stored-answers.ts';

/** Headers of every answer of the API. They let the scripts of any web page read the answer. */
const HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'allow, idempotency-replayed, link, ratelimit-limit, ratelimit-remaining, ratelimit-reset, retry-after, x-request-id, x-total-count',
  // Answers hold stream keys, and states that may change at any moment.
  'cache-control': 'no-store',
};
/** Headers of answers to the preflight requests of browsers (https://fetch.spec.whatwg.org/#cors-preflight-fetch). */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PATCH, PUT, DELETE',
  'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id, x-request-id',
  'access-control-max-age': '86400',
  // Safari waits for a body without it, although an answer with status 204 has none.
  'content-length': '0',
};

/**
 * Adds every route of `routes.ts` and their documentation under the API prefix of the settings.
 *
 * Any web page may call the routes. Only the header `authorization` authorizes a request, never a cookie or an address, so the same-origin
 * policy of browsers would protect nothing.
 */
export async function apiPlugin(http: FastifyInstance, options: ApiOptions): Promise<void> {
  await http.register(addApi, { ...options, prefix: options.settings.prefix });
}

async function addApi(http: FastifyInstance, options: ApiOptions): Promise<void> {
  const api = http.withTypeProvider<TypeBoxTypeProvider>();
  // A route of its own for preflight requests, so that browsers need no API key to ask.
  api.options('*', { schema: { hide: true } }, (_request, reply) => {
    void reply.code(204).headers(PREFLIGHT_HEADERS).removeHeader('cache-control').send();
  });
  api.addHook('onRequest', (_request, reply, done) => {
    reply.headers(HEADERS);
    done();
  });
  for (const schema of SCHEMAS) api.addSchema(schema);
  addDocumentation(api, options.settings);
  const { settings, store, clock } = options;
  const keyUse = new KeyUse(store, options.onKeyUse);
  api.addHook('onClose', () => keyUse[Symbol.asyncDispose]());
  const rateLimit = createRateLimit({ perMinute: settings.rateLimit, clock });
  const findCredential = createFindCredential(options);
  const authenticate = createAuthenticate({ ...options, findCredential, prefix: settings.prefix, rateLimit, keyUse });
  limitAnswers(api, rateLimit);
  makeRepeatable(api, { store, answers: new StoredAnswers(clock) });
  const context = { ...options, authenticate, findCredential };
  for (const addRoute of routes) addRoute(api, context);
}
