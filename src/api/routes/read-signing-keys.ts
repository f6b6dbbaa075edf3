/**
 * `GET /access-control/signing-key` and `GET /access-control/signing-key/<id>`.
 */

import type { ApiRoute } from '#api/api.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentSigningKey } from '#api/present-signing-key.ts';
import { documentedOnly, type RawQuery, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { PAGE_QUERY, SCOPE_QUERY, USER_QUERY } from '#api/schemas/list-query.ts';
import { signingKeyIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { SigningKeySchema } from '#api/schemas/signing-key.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type SigningKeyId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';

const PATH = '/access-control/signing-key';

const list = {
  operationId: 'listSigningKeys',
  summary: 'List signing keys',
  description:
    'Lists your signing keys, newest first, without their private keys. The `Link` header leads to the next page.',
  tags: ['access-control'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...PAGE_QUERY, ...USER_QUERY }),
  response: answers(200, Type.Array(ref(SigningKeySchema))),
};

/** Lists the signing keys of the caller, or of another user for an admin. */
export const listSigningKeys: ApiRoute = (api, context) => {
  const options = { schema: list, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get(PATH, options, async (request, reply) => {
    const { scope } = request.caller;
    if (scope === 'everyone') throw refused('all', 'cannot be used for signing keys; name one user with userId');
    const page = await context.store.signingKeys.ofUser(scope, readPage(request.query as RawQuery, 'signing-key'));
    linkNext(request, reply, context, { path: PATH, list: 'signing-key', next: page.next });
    return page.rows.map(presentSigningKey);
  });
};

const get = {
  operationId: 'getSigningKey',
  summary: 'Get a signing key',
  description: 'Gives the signing key without its private key.',
  tags: ['access-control'],
  security: [{ apiKey: [] }],
  params: signingKeyIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(SigningKeySchema), 404),
};

/** Answers with one signing key. */
export const getSigningKey: ApiRoute = (api, { authenticate, store }) => {
  api.get(`${PATH}/:id`, { schema: get, onRequest: authenticate }, async (request) => {
    const { id } = request.params;
    const key = isUuid(id) ? await store.signingKeys.get(id as SigningKeyId, request.caller.scope) : undefined;
    if (!key) throw unknownSigningKey();
    return presentSigningKey(key);
  });
};

/** Makes the error for an id that no signing key in the caller's scope has. */
export function unknownSigningKey(): MillraceError {
  return new MillraceError(
    'not_found',
    'You have no signing key with this id; list yours with GET /access-control/signing-key.',
  );
}
