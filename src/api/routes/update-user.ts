/**
 * `PATCH /user/<id>`.
 */
import type { ApiRoute } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import { isUuid } from '#api/id-forms.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { userIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { UserChangeSchema } from '#api/schemas/user.ts';
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';

const schema = {
  operationId: 'updateUser',
  summary: 'Rename, suspend, resume, promote or demote a user',
  description:
    "Admins only. A suspended user's API keys are refused from the next request on, and publishers to its streams are cut. The last active admin can be neither suspended nor demoted.",
  tags: ['user'],
  security: [{ apiKey: [] }],
  params: userIdParams,
  body: ref(UserChangeSchema),
  response: answers(204, NOTHING, 404, 409, 422),
};

/** Changes what the body names. */
export const updateUser: ApiRoute = (api, { authenticate, store }) => {
  api.patch('/user/:id', { schema, onRequest: [authenticate, adminOnly] }, async (request, reply) => {
    const id = request.params.id as UserId;
    const { name, admin, suspended } = request.body;
    const change = {
      ...(name !== undefined && { name }),
      ...(admin !== undefined && { isAdmin: admin }),
      ...(suspended !== undefined && { suspended }),
    };
    const fields = Object.keys(request.body);
    const apply = async () =>
      fields.length > 0
        ? store.users.change(id, change, receiptOf(request, { action: 'user.updated', resourceId: id, fields }))
        : (await store.users.get(id)) !== undefined;
    if (!isUuid(id) || !(await apply())) {
      throw new MillraceError('not_found', 'There is no user of that id; see GET /user.');
    }
    return reply.code(204).send();
  });
};
