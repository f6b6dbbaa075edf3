/**
 * Encrypts the answers that are stored for repeats, so that the database alone cannot reveal them. They may hold secrets, such as a new API
 * key.
 *
 * AES-256-GCM under a key derived with HKDF-SHA-256 from the API key's secret and the `Idempotency-Key`, of which the database holds only
 * hashes. The request is bound to the answer as additional data. Whoever repeats the request sends both keys.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secret } from '#domain/secret.ts';

/** The keys that an answer is sealed with. Both are needed to open it. */
export interface SealingKeys {
  readonly apiKey: Secret;
  readonly idempotencyKey: string;
  /** Identifies the request. The answer opens for no other request. */
  readonly request: string;
}

/** The status and body of an answer. */
export interface SentAnswer {
  readonly status: number;
  /** JSON text, or undefined when there was no body. */
  readonly text: string | undefined;
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts an answer. The result is the Base64url of nonce, tag and ciphertext. */
export function sealAnswer({ status, text }: SentAnswer, keys: SealingKeys): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(keys), nonce).setAAD(Buffer.from(keys.request));
  const content = Buffer.concat([cipher.update(JSON.stringify([status, text])), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64url');
}

/** Decrypts an answer. @throws {Error} when it was sealed with other keys, or is damaged */
export function openAnswer(sealed: string, keys: SealingKeys): SentAnswer {
  const bytes = Buffer.from(sealed, 'base64url');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, deriveKey(keys), nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(keys.request))
    .setAuthTag(tag);
  const content = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  const [status, text] = JSON.parse(content.toString()) as [number, string | null];
  return { status, text: text ?? undefined };
}

function deriveKey({ apiKey, idempotencyKey }: SealingKeys): Buffer {
  return Buffer.from(hkdfSync('sha256', apiKey.reveal(), idempotencyKey, 'millrace idempotent answer', KEY_BYTES));
}
