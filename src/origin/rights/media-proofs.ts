/**
 * Proofs: an unguessable part of the address of each segment of a restricted stream. Whoever may read the playlists learns it from them. It
 * is the same for all viewers, so that a cache keeps each segment once.
 *
 * A viewer whose right has ended gets no more playlists, and therefore no more addresses, although the names of segments are predictable. A
 * proof is bound to the policy, so that all addresses change with the policy.
 */
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { MediaPath } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { Secret } from '#domain/secret.ts';
import { atMostEntries } from '#lib/lru-limit.ts';
import { ProofTable } from './proof-table.ts';

/** The number of base64url characters, which hold 96 bits. */
const LENGTH = 16;
/** The largest number of remembered proofs, enough for several hundred sessions. Each segment is requested and listed many times. */
const MAX_REMEMBERED = 10_000;
/** The number of recordings whose proofs are kept in tables. Those whose playlists were used last are kept. */
const MAX_TABLES = 16;

/** Makes and checks proofs. */
export class MediaProofs {
  readonly #key: Buffer;
  readonly #proofs = new LRUCache<string, string>(atMostEntries(MAX_REMEMBERED));
  readonly #tables = new LRUCache<string, ProofTable>(atMostEntries(MAX_TABLES));
  readonly #policies = new WeakMap<PlaybackPolicy, string>();

  /** @param secret the secret of all nodes, which therefore make the same proofs */
  constructor(secret: Secret) {
    this.#key = Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'millrace media proofs', 32));
  }

  /**
   * Makes the proof for a segment and its parts, or for an init segment, under a policy. @param name the name in playlists, such as
   * `12.m4s` or `12.3.m4s`
   */
  of(policy: PlaybackPolicy, mediaPath: MediaPath, name: string): string {
    const what = `${mediaPath} ${this.#digestOf(policy)} ${name.split('.', 1)[0]}`;
    let proof = this.#proofs.get(what);
    if (proof === undefined) {
      proof = this.#make(what);
      this.#proofs.set(what, proof);
    }
    return proof;
  }

  /** Makes the same proofs for a playlist of a recording. They do not push out proofs that live streams need. */
  ofRecording(policy: PlaybackPolicy, mediaPath: MediaPath): (name: string) => string {
    const recording = `${mediaPath} ${this.#digestOf(policy)}`;
    const table = this.#tables.get(recording) ?? new ProofTable();
    this.#tables.set(recording, table);
    return (name) => table.of(name, () => this.#make(`${recording} ${name.split('.', 1)[0]}`));
  }

  /** Whether a proof is right for that name. */
  isRight(proof: string, policy: PlaybackPolicy, mediaPath: MediaPath, name: string): boolean {
    const expected = Buffer.from(this.of(policy, mediaPath, name));
    const given = Buffer.from(proof);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  #make(what: string): string {
    return createHmac('sha256', this.#key).update(what).digest('base64url').slice(0, LENGTH);
  }

  /** A digest of the policy. It is the same on every node, because the store keeps the policy as text. */
  #digestOf(policy: PlaybackPolicy): string {
    let digest = this.#policies.get(policy);
    if (digest === undefined) {
      digest = hash('sha256', JSON.stringify(policy), 'base64url');
      this.#policies.set(policy, digest);
    }
    return digest;
  }
}
