/**
 * Playback rights for tests: signing keys and tokens as a customer makes them, and rights for tests of an origin that are about something else.
 */
import { importPKCS8, SignJWT } from 'jose';
import { newSigningKeyId, type UserId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { newKeyPair, pemOf, type SigningKey } from '#domain/signing-key.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { WatchedHere } from '#live/live.ts';
import type { OriginOptions } from '#origin/origin.ts';
import { someStream } from './sample-records.ts';

/** A signing key with its private key. */
export interface SigningPair {
  readonly key: SigningKey;
  /** In the form of the API: Base64 of a PEM file. */
  readonly privateKey: string;
}

/** A new signing key of a user. */
export function someSigningPair(userId: UserId, change: Partial<SigningKey> = {}): SigningPair {
  const { publicKey, privateKey } = newKeyPair();
  const key = { id: newSigningKeyId(), userId, name: 'a signing key', createdAt: ms(1), publicKey, disabled: false };
  return { key: { ...key, ...change }, privateKey: privateKey.reveal() };
}

/**
 * Makes a playback token with the claims of the reference service that is valid for an hour.
 * @param claims replace others; an undefined one is left out
 */
export async function signToken(
  privateKey: string,
  publicKey: string,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { action: 'pull', iss: 'a test', pub: publicKey, video: 'none', iat: now, exp: now + 3600, ...claims };
  return await new SignJWT(all)
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
    .sign(await importPKCS8(pemOf(privateKey), 'ES256'));
}

/** The rights that an origin checks when every stream is public. */
export const PUBLIC_STREAMS: Pick<OriginOptions, 'rights' | 'onRefused'> = {
  rights: {
    store: {
      streams: { byPlaybackId: async () => someStream('a user' as UserId) },
      signingKeys: { ofUser: async () => ({ rows: [], next: undefined }) },
    } as unknown as OriginOptions['rights']['store'],
    secret: new Secret('shared by all nodes'),
    clock: systemClock,
    askReceiver: () => Promise.reject(new Error('nobody is asked')),
  },
  onRefused: () => undefined,
};

/** A public stream, as `live` describes it. */
export const somePublicStream = (): WatchedHere => someStream('a user' as UserId);
