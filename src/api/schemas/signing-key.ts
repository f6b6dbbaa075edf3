/**
 * Signing keys in the API.
 */
import { Type } from '#lib/schema.ts';
import { NameSchema } from './name.ts';
import { SIGNING_KEY_ID, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** What a client sends to create a signing key. */
export const NewSigningKeySchema = Type.Object(
  { name: Type.Optional(NameSchema) },
  { $id: 'NewSigningKey', additionalProperties: false, examples: [{ name: 'website' }] },
);

/** What a client sends to change a signing key. Fields that are left out stay as they are. */
export const SigningKeyChangeSchema = Type.Object(
  {
    name: Type.Optional(NameSchema),
    disabled: Type.Optional(
      Type.Boolean({ description: 'true to refuse tokens signed with the key, false to accept them again.' }),
    ),
  },
  { $id: 'SigningKeyChange', additionalProperties: false, examples: [{ disabled: true }] },
);

const EXAMPLE = {
  id: SIGNING_KEY_ID,
  name: 'website',
  userId: USER_ID,
  createdAt: 1_795_175_107_399,
  publicKey: 'LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0K...',
  disabled: false,
};

const FIELDS = {
  id: Type.String({
    format: 'uuid',
    description: 'The id of the key, which tokens carry as `kid`. It is not a secret.',
  }),
  name: Type.String(),
  userId: Type.String({
    format: 'uuid',
    description: 'The id of the user whose streams the tokens of the key are valid for.',
  }),
  createdAt: Type.Integer({ description: `When the signing key was created, in ${MILLISECONDS}.` }),
  publicKey: Type.String({
    description:
      'The public key: Base64 of a PEM file (SPKI, curve P-256). Tokens carry it as the claim `pub`. It is not a secret.',
  }),
  disabled: Type.Boolean({ description: 'Whether tokens signed with the key are refused.' }),
};

/** A signing key without its private key. */
export const SigningKeySchema = Type.Object(FIELDS, { $id: 'SigningKey', examples: [EXAMPLE] });

/** A signing key that has just been created. Only this answer holds the private key. */
export const CreatedSigningKeySchema = Type.Object(
  {
    ...FIELDS,
    privateKey: Type.String({
      description:
        'The private key to sign tokens with: Base64 of a PEM file (PKCS #8). It is a secret, and is shown only in this answer, so store it.',
    }),
  },
  { $id: 'CreatedSigningKey', examples: [{ ...EXAMPLE, privateKey: 'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg...' }] },
);
