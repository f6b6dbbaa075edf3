/**
 * Tickets: the right to watch one stream as a part of an address, so that the relative addresses in a playlist carry it along.
 *
 * A viewer gets a ticket for its token or access key, with the multivariant playlist. It holds what the server needs to check each request,
 * encrypted (AES-256-GCM) with a key that all nodes derive from their shared secret. So no node has to remember it, a viewer cannot read or
 * change it, and logs do not contain the customer's token. It gives no right by itself: the key that it stands for is checked each time.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { PlaybackId, SigningKeyId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import { atMostEntries } from '#lib/lru-limit.ts';
import { MAX_ACCESS_KEY_LENGTH } from './credentials.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The largest number of remembered tickets. A player sends the same one with every request. */
const MAX_REMEMBERED = 20_000;
const MAX_LENGTH = 8 * MAX_ACCESS_KEY_LENGTH;

/** The contents of a ticket. */
export type TicketContents =
  | { readonly keyId: SigningKeyId; readonly expiresAtMs: number } // a token that was verified
  | { readonly accessKey: string }
  | { readonly ownerToken: string };

/** Seals and opens tickets. */
export class Tickets {
  readonly #key: Uint8Array;
  readonly #opened = new LRUCache<string, TicketContents>(atMostEntries(MAX_REMEMBERED));

  /** @param secret the secret of all nodes */
  constructor(secret: Secret) {
    this.#key = new Uint8Array(hkdfSync('sha256', secret.reveal(), '', 'millrace playback tickets', 32));
  }

  /** Makes a ticket, as a segment of a path. It opens for this stream only. */
  seal(playbackId: PlaybackId, contents: TicketContents): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#keyOf(playbackId), nonce);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(contents)), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** The contents of a ticket. Undefined when no node sealed it for this stream. */
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
      return undefined; // the authentication tag is wrong
    }
  }

  /**
   * Derives the key of a stream. With a key for each stream, random nonces stay far below the 2^32 that are safe with one key (NIST SP
   * 800-38D §8.3).
   */
  #keyOf(playbackId: PlaybackId): Buffer {
    return createHmac('sha256', this.#key).update(playbackId).digest();
  }
}
