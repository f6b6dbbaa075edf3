/**
 * Tickets: a right to watch one stream as a part of an address, so that the relative addresses in a playlist carry it on by themselves.
 *
 * A viewer gets one for its token or access key, with the multivariant playlist. It holds what the server needs to decide again at each
 * request, sealed (AES-256-GCM) by a secret that all nodes share: no node has to remember it, a viewer cannot read or change it, and what
 * is in a log is not the customer's token. It gives no right by itself: the key behind it is asked for each time.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { PlaybackId, SigningKeyId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import { MAX_ACCESS_KEY_LENGTH } from './credentials.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Opened tickets remembered: a player shows the same one at every request. */
const MAX_REMEMBERED = 20_000;
const MAX_LENGTH = 8 * MAX_ACCESS_KEY_LENGTH;

/** What a ticket stands for. */
export type TicketContents =
  | { readonly keyId: SigningKeyId; readonly expiresAtMs: number } // a token that was good
  | { readonly accessKey: string };

/** Seals and opens tickets. */
export class Tickets {
  readonly #key: Uint8Array;
  readonly #opened = new LRUCache<string, TicketContents>({ max: MAX_REMEMBERED });

  /** @param secret of all nodes */
  constructor(secret: Secret) {
    this.#key = new Uint8Array(hkdfSync('sha256', secret.reveal(), '', 'millrace playback tickets', 32));
  }

  /** A ticket, as a segment of a path. It opens for this stream only. */
  seal(playbackId: PlaybackId, contents: TicketContents): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#keyOf(playbackId), nonce);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(contents)), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** What a ticket stands for; undefined when no node sealed it for this stream. */
  open(playbackId: PlaybackId, ticket: string): TicketContents | undefined {
    if (ticket.length > MAX_LENGTH) return undefined;
    const name = `${playbackId} ${ticket}`;
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const contents = this.#unseal(playbackId, ticket);
    if (contents !== undefined) this.#opened.set(name, contents);
    return contents;
  }

  #unseal(playbackId: PlaybackId, ticket: string): TicketContents | undefined {
    const bytes = Buffer.from(ticket, 'base64url');
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
    try {
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(ALGORITHM, this.#keyOf(playbackId), nonce, { authTagLength: TAG_BYTES });
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
      return JSON.parse(opened.toString()) as TicketContents;
    } catch {
      return undefined; // the tag does not fit
    }
  }

  /** Each stream has a key of its own, so that random nonces stay far from the 2^32 that are safe with one key (NIST SP 800-38D §8.3). */
  #keyOf(playbackId: PlaybackId): Buffer {
    return createHmac('sha256', this.#key).update(playbackId).digest();
  }
}
