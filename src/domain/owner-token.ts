/**
 * Owner tokens: the right of a stream's owner to watch it whatever its playback policy is, as a text that can be part of an address.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { HOUR_MS, type Milliseconds, ms } from '#lib/units.ts';
import { type ApiKeyId, type BrowserSessionId, isUuid, type PlaybackId } from './ids.ts';
import { Secret } from './secret.ts';

/** Milliseconds that an owner token is valid: as long as an unused browser session lasts, so that a page that stays open needs few tokens. */
export const OWNER_TOKEN_LIFE_MS = 12 * HOUR_MS;

/** The API key or browser session that a token was made with. The token is valid for as long as it is. */
export type OwnerCredential = { readonly keyId: ApiKeyId } | { readonly sessionId: BrowserSessionId };

/** What a token says. */
export interface OwnerClaim {
  readonly credential: OwnerCredential;
  readonly expiresAt: Milliseconds;
}

/** The form of a token: the kind and id of the credential, the end of its life, and a signature. */
const TOKEN = /^owner\.([kb])\.([0-9a-f-]{36})\.([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})$/;

/** Whether a text is meant to be an owner token, valid or not. */
export const isOwnerToken = (text: string): boolean => text.startsWith('owner.');

/**
 * Makes and reads owner tokens. A token is for one playback id. It names the credential that it was made with, and the reader looks that
 * up, so that a token ends with it.
 */
export class OwnerTokens {
  readonly #secret: Secret;

  /** @param secret the secret of all nodes, so that each accepts the tokens of the others */
  constructor(secret: Secret) {
    this.#secret = secret;
  }

  /** A token for the stream or asset with this playback id, valid until `expiresAt`. */
  issue(playbackId: PlaybackId, { credential, expiresAt }: OwnerClaim): Secret {
    const named = 'keyId' in credential ? `k.${credential.keyId}` : `b.${credential.sessionId}`;
    const contents = `${named}.${expiresAt.toString(36)}`;
    return new Secret(`owner.${contents}.${this.#sign(playbackId, contents).toString('base64url')}`);
  }

  /** What a token says, also after the end of its life. Undefined when no node issued it for this playback id. */
  read(playbackId: PlaybackId, token: string): OwnerClaim | undefined {
    const [, kind = '', id = '', expiry = '', signature = ''] = TOKEN.exec(token) ?? [];
    if (!isUuid(id)) return undefined;
    const given = Buffer.from(signature, 'base64url');
    const right = this.#sign(playbackId, `${kind}.${id}.${expiry}`);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const credential = kind === 'k' ? { keyId: id as ApiKeyId } : { sessionId: id as BrowserSessionId };
    return { credential, expiresAt: ms(Number.parseInt(expiry, 36)) };
  }

  #sign(playbackId: PlaybackId, contents: string): Buffer {
    const signed = `millrace owner token ${playbackId} ${contents}`;
    return createHmac('sha256', this.#secret.reveal()).update(signed).digest();
  }
}
