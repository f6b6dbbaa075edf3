/**
 * Signing keys: a customer signs playback tokens with the private key, and Millrace verifies them with the public one.
 */
import { generateKeyPairSync } from 'node:crypto';
import type { Milliseconds } from '#lib/units.ts';
import type { SigningKeyId, UserId } from './ids.ts';
import { Secret } from './secret.ts';

/** The most signing keys of a user, as with the reference service: enough to replace each key now and then. */
export const MAX_SIGNING_KEYS = 10;

/** A signing key as stored. Only its user has the private key. */
export interface SigningKey {
  readonly id: SigningKeyId;
  readonly userId: UserId;
  readonly name: string;
  readonly createdAt: Milliseconds;
  /** A key on the curve P-256: base64 of a PEM file (SPKI), as tokens name it in their claim `pub`. */
  readonly publicKey: string;
  /** Whether tokens signed with it are refused. */
  readonly disabled: boolean;
}

/** A new pair of keys, each as base64 of a PEM file: the public one as SPKI, the private one as PKCS #8. */
export function newKeyPair(): { readonly publicKey: string; readonly privateKey: Secret } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { publicKey: base64Of(publicKey), privateKey: new Secret(base64Of(privateKey)) };
}

/** The PEM text of a key in the form of the API. A PEM text stays as it is. */
export function pemOf(key: string): string {
  return key.includes('-----BEGIN') ? key : Buffer.from(key, 'base64').toString();
}

const base64Of = (text: string): string => Buffer.from(text).toString('base64');
