/**
 * Signing keys over HTTP.
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

/** What a client sends to change one: what is left out stays. */
export const SigningKeyChangeSchema = Type.Object(
  {
    name: Type.Optional(NameSchema),
    disabled: Type.Optional(
      Type.Boolean({ description: 'true to refuse the tokens signed with it, false to accept them again.' }),
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
  id: Type.String({ format: 'uuid', description: 'Names the key; the `kid` of a token. Not a secret.' }),
  name: Type.String(),
  userId: Type.String({ format: 'uuid', description: 'Whose it is: its tokens count for the streams of this user.' }),
  createdAt: Type.Integer({ description: `${MILLISECONDS}.` }),
  publicKey: Type.String({
    description: 'Base64 of a PEM file (SPKI, curve P-256): the claim `pub` of a token. Not a secret.',
  }),
  disabled: Type.Boolean({ description: 'Whether tokens signed with it are refused.' }),
};

/** A signing key without its private key. */
export const SigningKeySchema = Type.Object(FIELDS, { $id: 'SigningKey', examples: [EXAMPLE] });

/** A signing key just created: only this answer holds the private key. */
export const CreatedSigningKeySchema = Type.Object(
  {
    ...FIELDS,
    privateKey: Type.String({
      description: 'Base64 of a PEM file (PKCS #8): what to sign tokens with. A secret. Shown only now; store it.',
    }),
  },
  { $id: 'CreatedSigningKey', examples: [{ ...EXAMPLE, privateKey: 'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg...' }] },
);
