/**
 * `POST /user`.
 */
import type { ApiRoute } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import { presentUser } from '#api/present-user.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { ref } from '#api/schemas/ref.ts';
import { NewUserSchema, UserSchema } from '#api/schemas/user.ts';
import { newUserId } from '#domain/ids.ts';
import { ownQuotas } from '#domain/quotas.ts';
import type { User } from '#domain/user.ts';

const schema = {
  operationId: 'createUser',
  summary: 'Create a user',
  description: 'For admins only. A user has no password: create an API key for it with `POST /api-token`.',
  tags: ['user'],
  security: [{ apiKey: [] }],
  body: ref(NewUserSchema),
  response: answers(201, ref(UserSchema), 409),
};

/** Creates a user whose name is free. */
export const createUser: ApiRoute = (api, { authenticate, store, clock, quotas: defaults }) => {
  api.post('/user', { schema, onRequest: [authenticate, adminOnly] }, async (request, reply) => {
    const { name, admin = false, quotas = {} } = request.body;
    const user: User = {
      id: newUserId(),
      name,
      createdAt: clock.now(),
      isAdmin: admin,
      suspended: false,
      quotas: ownQuotas(quotas),
    };
    const body = presentUser(user, defaults);
    const change = { action: 'user.created', resourceId: user.id } as const;
    await store.users.create(user, receiptOf(request, change, { status: 201, body }));
    reply.code(201);
    return body;
  });
};
