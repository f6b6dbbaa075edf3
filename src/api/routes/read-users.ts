/**
 * `GET /user`, `GET /user/me` and `GET /user/<id>`.
 */

import type { ApiRoute, RouteContext } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentUser, usageOf } from '#api/present-user.ts';
import { documentedOnly, type RawQuery } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { PAGE_QUERY } from '#api/schemas/list-query.ts';
import { userIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { UserSchema } from '#api/schemas/user.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type UserId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';

const list = {
  operationId: 'listUsers',
  summary: 'List users',
  description: 'For admins only. Lists users newest first; the `Link` header leads to the next page.',
  tags: ['user'],
  security: [{ apiKey: [] }],
  querystring: Type.Object(PAGE_QUERY),
  response: answers(200, Type.Array(ref(UserSchema))),
};

/** Lists all users. */
export const listUsers: ApiRoute = (api, context) => {
  const onRequest = [context.authenticate, adminOnly];
  api.get('/user', { schema: list, onRequest, validatorCompiler: documentedOnly }, async (request, reply) => {
    const page = await context.store.users.list(readPage(request.query as RawQuery, 'user'));
    linkNext(request, reply, context, { path: '/user', list: 'user', next: page.next });
    return page.rows.map((user) => presentUser(user, context.quotas));
  });
};

const me = {
  operationId: 'getMe',
  summary: 'Get the user of the API key',
  description:
    'Gives the user with the quotas that apply to it, and how much of them is in use. Publishers, transcodes, media memory and viewers are counted on the server that answers.',
  tags: ['user'],
  security: [{ apiKey: [] }],
  response: answers(200, ref(UserSchema)),
};

/** Answers with the user of the API key. */
export const getMe: ApiRoute = (api, context) => {
  const options = { schema: me, onRequest: context.authenticate };
  api.get('/user/me', options, (request) => findUser(context, request.caller.userId));
};

const get = {
  operationId: 'getUser',
  summary: 'Get a user',
  description: 'For admins only. The answer has the same form as that of `GET /user/me`.',
  tags: ['user'],
  security: [{ apiKey: [] }],
  params: userIdParams,
  response: answers(200, ref(UserSchema), 404),
};

/** Answers with any user. */
export const getUser: ApiRoute = (api, context) => {
  api.get('/user/:id', { schema: get, onRequest: [context.authenticate, adminOnly] }, (request) =>
    findUser(context, request.params.id),
  );
};

async function findUser(context: RouteContext, id: string) {
  const user = isUuid(id) ? await context.store.users.get(id as UserId) : undefined;
  if (!user) throw new MillraceError('not_found', 'There is no user with this id; list the users with GET /user.');
  return { ...presentUser(user, context.quotas), usage: await usageOf(user, context) };
}
