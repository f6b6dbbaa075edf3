/**
 * `DELETE /api-token/<id>`.
 */
import type { ApiRoute } from '#api/api.ts';
import { keyScopeOf } from '#api/authenticate.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { apiTokenIdParams } from '#api/schemas/params.ts';
import { MillraceError } from '#domain/errors.ts';
import { type ApiKeyId, isUuid } from '#domain/ids.ts';

const schema = {
  operationId: 'deleteApiToken',
  summary: 'Revoke an API key',
  description: 'The key is refused from the next request on. A key may revoke itself.',
  tags: ['api-token'],
  security: [{ apiKey: [] }],
  params: apiTokenIdParams,
  response: answers(204, NOTHING, 404),
};

/** Revokes a key of the caller or, if the caller is an admin, of anybody. */
export const deleteApiToken: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/api-token/:id', { schema, onRequest: authenticate }, async (request, reply) => {
    const id = request.params.id as ApiKeyId;
    const receipt = receiptOf(request, { action: 'api_key.deleted', resourceId: id }, NO_CONTENT);
    if (!isUuid(id) || !(await store.apiKeys.revoke(id, keyScopeOf(request.caller), receipt))) {
      throw new MillraceError('not_found', 'You have no API key with this id; list yours with GET /api-token.');
    }
    return reply.code(204).send();
  });
};
