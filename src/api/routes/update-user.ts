/**
 * `PATCH /user/<id>`.
 */
import type { Static } from 'typebox';
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { userIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { UserChangeSchema } from '#api/schemas/user.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type UserId } from '#domain/ids.ts';

const schema = {
  operationId: 'updateUser',
  summary: 'Rename, suspend, resume, promote or demote a user, or change its quotas',
  description:
    'For admins only. The API keys of a suspended user are refused from the next request on, publishers to its streams are disconnected, and its streams, recordings and clips cannot be watched. The last active admin can be neither suspended nor demoted. Quotas that are left out stay as they are. A quota of null is reset to the default.',
  tags: ['user'],
  security: [{ apiKey: [] }],
  params: userIdParams,
  body: ref(UserChangeSchema),
  response: answers(204, NOTHING, 404, 409, 422),
};

/** Changes the fields that are sent. */
export const updateUser: ApiRoute = (api, { authenticate, store }) => {
  const hooks = { onRequest: [authenticate, adminOnly], preValidation: absentBodyIsEmpty };
  api.patch('/user/:id', { schema, ...hooks }, async (request, reply) => {
    const id = request.params.id as UserId;
    const { name, admin, suspended, quotas } = request.body;
    if (!isUuid(id) || !(await store.users.get(id))) throw unknownUser();
    const change = {
      ...(name !== undefined && { name }),
      ...(admin !== undefined && { isAdmin: admin }),
      ...(suspended !== undefined && { suspended }),
      ...(quotas !== undefined && { quotas }),
    };
    const fields = changedFields(request.body);
    if (fields.length > 0) {
      const receipt = receiptOf(request, { action: 'user.updated', resourceId: id, fields }, NO_CONTENT);
      if (!(await store.users.change(id, change, receipt))) throw unknownUser();
    }
    return reply.code(204).send();
  });
};

const unknownUser = () =>
  new MillraceError('not_found', 'There is no user with this id; list the users with GET /user.');

/** The names of the fields that a body changes, for the audit log. */
function changedFields({ quotas = {}, ...rest }: Static<typeof UserChangeSchema>): readonly string[] {
  return [...Object.keys(rest), ...Object.keys(quotas).map((name) => `quotas.${name}`)];
}
