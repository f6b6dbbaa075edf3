/**
 * `POST /api-token`.
 */
import type { Static } from 'typebox';
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import { accessProblem, isContained } from '#api/access.ts';
import type { ApiRoute } from '#api/api.ts';
import type { Caller } from '#api/authenticate.ts';
import { presentApiToken } from '#api/present-api-token.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { CreatedApiTokenSchema, NewApiTokenSchema } from '#api/schemas/api-token.ts';
import { ref } from '#api/schemas/ref.ts';
import { refuseOtherScope } from '#api/scope.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, newApiKeyId, randomText, type UserId } from '#domain/ids.ts';
import { quotasOf } from '#domain/quotas.ts';
import { newApiKeySecret } from '#domain/secret.ts';
import type { ApiKey, User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';

const schema = {
  operationId: 'createApiToken',
  summary: 'Create an API key',
  description:
    'This is the only answer that shows the key itself. A key never allows more than the key that creates it: each resource and method of its rules must be covered by one rule of the creating key.',
  tags: ['api-token'],
  security: [{ apiKey: [] }],
  body: ref(NewApiTokenSchema),
  response: answers(201, ref(CreatedApiTokenSchema), 409),
};

/** Creates a key for the caller or, if the caller is an admin, for another user. */
export const createApiToken: ApiRoute = (api, { authenticate, store, clock, quotas }) => {
  const hooks = { onRequest: authenticate, preValidation: absentBodyIsEmpty };
  api.post('/api-token', { schema, ...hooks }, async (request, reply) => {
    refuseOtherScope(request.caller, 'name the user in the field userId of the body');
    const { name = `key-${randomText(8)}`, access } = request.body;
    mustNotExceed(access, request.caller);
    const owner = await ownerOf(request.body, request.caller, store);
    const secret = newApiKeySecret();
    const key: ApiKey = {
      id: newApiKeyId(),
      userId: owner.id,
      name,
      secretHash: secret.hash(),
      createdAt: clock.now(),
      revokedAt: undefined,
      access,
      lastSeen: ms(0),
    };
    const body = { ...presentApiToken(key), key: secret.reveal() };
    const change = { action: 'api_key.created', resourceId: key.id } as const;
    const atMost = owner.user === undefined ? request.caller.quotas.apiKeys : quotasOf(owner.user, quotas).apiKeys;
    await store.apiKeys.create(key, receiptOf(request, change, { status: 201, body }), { atMost });
    reply.code(201);
    return body;
  });
};

type NewApiToken = Static<typeof NewApiTokenSchema>;

function mustNotExceed(access: NewApiToken['access'], caller: Caller): void {
  const problem = access && accessProblem(access.rules);
  if (problem !== undefined) throw new MillraceError('invalid_body', problem);
  if (isContained(access, caller.access)) return;
  throw new MillraceError(
    'insufficient_scope',
    access
      ? 'The field access.rules allows more than the API key of this request does; leave out what your key may not do, and write resources and methods as the rules of your key do.'
      : 'The field access is missing. The new key would be allowed everything, but the API key of this request is not; send rules that the API key of this request covers.',
  );
}

/**
 * Finds the user that the key is for. `user` is undefined when that is the caller.
 * @throws {MillraceError} `admin_only` for the id of another user, whether such a user exists or not
 */
async function ownerOf(
  { userId }: NewApiToken,
  caller: Caller,
  store: Pick<Store, 'users'>,
): Promise<{ readonly id: UserId; readonly user: User | undefined }> {
  if (userId === undefined || userId === caller.userId) return { id: caller.userId, user: undefined };
  if (!caller.isAdmin) {
    throw new MillraceError(
      'admin_only',
      'Only an admin may create API keys for another user; leave out the field userId.',
    );
  }
  const user = isUuid(userId) ? await store.users.get(userId as UserId) : undefined;
  if (!user)
    throw new MillraceError('invalid_body', 'The field userId is not the id of a user; list the users with GET /user.');
  return { id: user.id, user };
}
