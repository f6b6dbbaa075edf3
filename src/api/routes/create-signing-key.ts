/**
 * `POST /access-control/signing-key`.
 */
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute } from '#api/api.ts';
import { presentSigningKey } from '#api/present-signing-key.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { ref } from '#api/schemas/ref.ts';
import { CreatedSigningKeySchema, NewSigningKeySchema } from '#api/schemas/signing-key.ts';
import { refuseOtherScope } from '#api/scope.ts';
import { newSigningKeyId, randomText } from '#domain/ids.ts';
import { MAX_SIGNING_KEYS, newKeyPair } from '#domain/signing-key.ts';

const schema = {
  operationId: 'createSigningKey',
  summary: 'Create a signing key',
  description: `Creates a key pair, with which you sign tokens for your streams with the playback policy \`jwt\`. Only this answer holds the private key, because Millrace does not store it. A user may have at most ${MAX_SIGNING_KEYS} signing keys.`,
  tags: ['access-control'],
  security: [{ apiKey: [] }],
  body: ref(NewSigningKeySchema),
  response: answers(200, ref(CreatedSigningKeySchema)),
};

/** Creates a signing key for the caller. */
export const createSigningKey: ApiRoute = (api, { authenticate, store, clock }) => {
  const hooks = { onRequest: authenticate, preValidation: absentBodyIsEmpty };
  api.post('/access-control/signing-key', { schema, ...hooks }, async (request) => {
    const { caller } = request;
    refuseOtherScope(caller, 'a signing key belongs to the user of the API key');
    const { name = `key-${randomText(8)}` } = request.body;
    const { publicKey, privateKey } = newKeyPair();
    const id = newSigningKeyId();
    const key = { id, userId: caller.userId, name, createdAt: clock.now(), publicKey, disabled: false };
    const body = { ...presentSigningKey(key), privateKey: privateKey.reveal() };
    const receipt = receiptOf(request, { action: 'signing_key.created', resourceId: id }, { status: 200, body });
    await store.signingKeys.create(key, receipt, { atMost: MAX_SIGNING_KEYS });
    return body;
  });
};
