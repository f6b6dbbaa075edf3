/**
 * `GET /api-token` and `GET /api-token/<id>`.
 */

import type { ApiRoute } from '#api/api.ts';
import { keyScopeOf } from '#api/authenticate.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentApiToken } from '#api/present-api-token.ts';
import { documentedOnly, type RawQuery, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { ApiTokenSchema } from '#api/schemas/api-token.ts';
import { PAGE_QUERY, USER_QUERY } from '#api/schemas/list-query.ts';
import { apiTokenIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { MillraceError } from '#domain/errors.ts';
import { type ApiKeyId, isUuid } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';

const list = {
  operationId: 'listApiTokens',
  summary: 'List API keys',
  description:
    'Lists your API keys that are not revoked, newest first. The keys themselves are not shown. The `Link` header leads to the next page.',
  tags: ['api-token'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...PAGE_QUERY, ...USER_QUERY }),
  response: answers(200, Type.Array(ref(ApiTokenSchema))),
};

/** Lists the API keys of the caller or, for an admin, of any user. */
export const listApiTokens: ApiRoute = (api, context) => {
  const options = { schema: list, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/api-token', options, async (request, reply) => {
    const { scope } = request.caller;
    if (scope === 'everyone') throw refused('all', 'cannot be used for API keys; name one user with userId');
    const page = await context.store.apiKeys.ofUser(scope, readPage(request.query as RawQuery, 'api-token'));
    linkNext(request, reply, context, { path: '/api-token', list: 'api-token', next: page.next });
    return page.rows.map(presentApiToken);
  });
};

const get = {
  operationId: 'getApiToken',
  summary: 'Get an API key',
  description: 'Gives everything about the API key except the key itself.',
  tags: ['api-token'],
  security: [{ apiKey: [] }],
  params: apiTokenIdParams,
  response: answers(200, ref(ApiTokenSchema), 404),
};

/** Answers with an API key of the caller or, for an admin, of any user. */
export const getApiToken: ApiRoute = (api, { authenticate, store }) => {
  api.get('/api-token/:id', { schema: get, onRequest: authenticate }, async (request) => {
    const { id } = request.params;
    const key = isUuid(id) ? await store.apiKeys.get(id as ApiKeyId, keyScopeOf(request.caller)) : undefined;
    if (!key) throw new MillraceError('not_found', 'You have no API key with this id; list yours with GET /api-token.');
    return presentApiToken(key);
  });
};
