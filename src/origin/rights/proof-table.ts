/**
 * The proofs of one recording by segment number, in a few bytes each. The playlist of a whole day has more segments than other caches have
 * places for proofs, and making a proof takes a hundred times as long as reading it here.
 */

/** The number of bytes of a proof, which are 16 base64url characters. */
const PROOF_BYTES = 12;
/** Proofs of segments from this number on are not kept, so a table has at most 1.5 MiB. A day has fewer segments of a second or more. */
const MAX_NUMBERS = 2 ** 17;
const MIN_BYTES = 1024;
const NONE = Buffer.alloc(PROOF_BYTES);
const SEGMENT = /^(0|[1-9]\d{0,8})\.m4s$/;

/** Keeps the proofs of one recording under one policy. */
export class ProofTable {
  #bytes = Buffer.alloc(0);

  /** The proof for the name of a segment or init segment. @param make makes it when it is not in the table */
  of(name: string, make: (name: string) => string): string {
    const number = Number(SEGMENT.exec(name)?.[1] ?? MAX_NUMBERS);
    if (number >= MAX_NUMBERS) return make(name);
    const [from, until] = [number * PROOF_BYTES, (number + 1) * PROOF_BYTES];
    if (until > this.#bytes.length) this.#grow(until);
    const place = this.#bytes.subarray(from, until);
    if (!place.equals(NONE)) return place.toString('base64url');
    const proof = make(name);
    place.write(proof, 'base64url');
    return proof;
  }

  #grow(toBytes: number): void {
    const wanted = Math.max(MIN_BYTES, 2 * this.#bytes.length, toBytes);
    const bytes = Buffer.alloc(Math.min(wanted, MAX_NUMBERS * PROOF_BYTES));
    this.#bytes.copy(bytes);
    this.#bytes = bytes;
  }
}
