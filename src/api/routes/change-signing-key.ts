/**
 * `PATCH /access-control/signing-key/<id>` and `DELETE /access-control/signing-key/<id>`.
 */
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute } from '#api/api.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { signingKeyIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { SigningKeyChangeSchema } from '#api/schemas/signing-key.ts';
import { isUuid, type SigningKeyId } from '#domain/ids.ts';
import { unknownSigningKey } from './read-signing-keys.ts';

const STOPS = 'Viewers who are already watching with one are refused within a few seconds.';

const common = {
  tags: ['access-control'],
  security: [{ apiKey: [] }],
  params: signingKeyIdParams,
  querystring: SCOPE_QUERY,
  response: answers(204, NOTHING, 404),
};

const update = {
  ...common,
  operationId: 'updateSigningKey',
  summary: 'Rename, disable or enable a signing key',
  description: `While a key is disabled, its tokens are refused. ${STOPS}`,
  body: ref(SigningKeyChangeSchema),
};

/** Changes a signing key. */
export const updateSigningKey: ApiRoute = (api, { authenticate, store }) => {
  const hooks = { onRequest: authenticate, preValidation: absentBodyIsEmpty };
  api.patch('/access-control/signing-key/:id', { schema: update, ...hooks }, async (request, reply) => {
    const { caller, body } = request;
    const id = request.params.id as SigningKeyId;
    if (!isUuid(id) || !(await store.signingKeys.get(id, caller.scope))) throw unknownSigningKey();
    const fields = Object.keys(body);
    if (fields.length === 0) return reply.code(204).send();
    const change = { action: 'signing_key.updated', resourceId: id, fields } as const;
    const receipt = receiptOf(request, change, NO_CONTENT);
    if (!(await store.signingKeys.change(id, caller.scope, body, receipt))) throw unknownSigningKey();
    return reply.code(204).send();
  });
};

const remove = {
  ...common,
  operationId: 'deleteSigningKey',
  summary: 'Delete a signing key',
  description: `Its tokens are refused from now on. ${STOPS}`,
};

/** Deletes a signing key. */
export const deleteSigningKey: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/access-control/signing-key/:id', { schema: remove, onRequest: authenticate }, async (request, reply) => {
    const id = request.params.id as SigningKeyId;
    const receipt = receiptOf(request, { action: 'signing_key.deleted', resourceId: id }, NO_CONTENT);
    if (!isUuid(id) || !(await store.signingKeys.delete(id, request.caller.scope, receipt))) throw unknownSigningKey();
    return reply.code(204).send();
  });
};
