/**
 * Answers kept for repeats, sealed so that the database alone cannot read them: they may hold secrets, such as a new API key.
 *
 * AES-256-GCM under a key derived (HKDF-SHA-256) from the API key's secret and the `Idempotency-Key`, of which the database holds only
 * hashes; bound to the request it answers. Whoever repeats the request brings both.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secret } from '#domain/secret.ts';

/** What an answer is sealed with; both must be there again to open it. */
export interface SealingKeys {
  readonly apiKey: Secret;
  readonly idempotencyKey: string;
  /** Names the request; the answer opens for no other. */
  readonly request: string;
}

/** An answer as it went out. */
export interface SentAnswer {
  readonly status: number;
  /** JSON text; undefined when there was no body. */
  readonly text: string | undefined;
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Base64url of nonce, tag and ciphertext. */
export function sealAnswer({ status, text }: SentAnswer, keys: SealingKeys): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(keys), nonce).setAAD(Buffer.from(keys.request));
  const content = Buffer.concat([cipher.update(JSON.stringify([status, text])), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64url');
}

/** @throws {Error} when it was sealed with other keys, or is damaged */
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
