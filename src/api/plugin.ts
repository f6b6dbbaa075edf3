/**
 * The JSON API as a Fastify plugin.
 */
import cors from '@fastify/cors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { ApiOptions } from './api.ts';
import { createAuthenticate } from './authenticate.ts';
import { createFindCredential } from './credentials.ts';
import { addDocumentation } from './documentation.ts';
import { makeRepeatable } from './idempotency.ts';
import { KeyUse } from './key-use.ts';
import { createRateLimit } from './rate-limit.ts';
import { routes } from './routes.ts';
import { SCHEMAS } from './schemas.ts';

/**
 * Adds every route of `routes.ts` and their documentation under the API prefix of the settings.
 *
 * Any web page may call the routes. They are authorized by what the header `authorization` holds alone, never by a cookie or an address, so the same-origin policy of
 * browsers would protect nothing.
 */
export async function apiPlugin(http: FastifyInstance, options: ApiOptions): Promise<void> {
  await http.register(addApi, { ...options, prefix: options.settings.prefix });
}

async function addApi(http: FastifyInstance, options: ApiOptions): Promise<void> {
  const api = http.withTypeProvider<TypeBoxTypeProvider>();
  await api.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'x-request-id'],
    exposedHeaders: [
      'allow',
      'idempotency-replayed',
      'link',
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
      'retry-after',
      'x-request-id',
      'x-total-count',
    ],
    maxAge: 86_400,
    strictPreflight: false,
  });
  // Answers hold stream keys, and states that may change at any moment.
  api.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store');
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
  makeRepeatable(api, options);
  const context = { ...options, authenticate, findCredential };
  for (const addRoute of routes) addRoute(api, context);
}
