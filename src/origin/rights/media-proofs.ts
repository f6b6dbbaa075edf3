/**
 * Proofs: a part of the address of each segment of a restricted stream that nobody can guess. Whoever may read the playlists learns it from
 * them; all viewers learn the same, so a cache keeps each segment once.
 *
 * A viewer whose right has ended gets no more playlists, and so no more addresses, although the names of segments are predictable. A proof
 * is bound to the policy, so that all addresses change when the policy does.
 */
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { MediaPath } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { Secret } from '#domain/secret.ts';

/** 96 bits. */
const LENGTH = 16;
/** The proofs of some hundred sessions: each segment is asked for and listed many times. */
const MAX_REMEMBERED = 10_000;

/** Makes and checks proofs. */
export class MediaProofs {
  readonly #key: Buffer;
  readonly #proofs = new LRUCache<string, string>({ max: MAX_REMEMBERED });
  readonly #policies = new WeakMap<PlaybackPolicy, string>();

  /** @param secret of all nodes, which therefore make the same proofs */
  constructor(secret: Secret) {
    this.#key = Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'millrace media proofs', 32));
  }

  /** The proof for a segment and its parts, or for an init segment, under a policy. @param name as playlists list it: `12.m4s`, `12.3.m4s` */
  of(policy: PlaybackPolicy, mediaPath: MediaPath, name: string): string {
    const what = `${mediaPath} ${this.#digestOf(policy)} ${name.split('.', 1)[0]}`;
    let proof = this.#proofs.get(what);
    if (proof === undefined) {
      proof = createHmac('sha256', this.#key).update(what).digest('base64url').slice(0, LENGTH);
      this.#proofs.set(what, proof);
    }
    return proof;
  }

  /** Whether this is the proof for that name. */
  isRight(proof: string, policy: PlaybackPolicy, mediaPath: MediaPath, name: string): boolean {
    const expected = Buffer.from(this.of(policy, mediaPath, name));
    const given = Buffer.from(proof);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** What tells policies apart; the same at every node, since the store keeps the text of each. */
  #digestOf(policy: PlaybackPolicy): string {
    let digest = this.#policies.get(policy);
    if (digest === undefined) {
      digest = hash('sha256', JSON.stringify(policy), 'base64url');
      this.#policies.set(policy, digest);
    }
    return digest;
  }
}
