/**
 * The far end of ingest: checks that what arrives keeps the contract of a publication.
 */
import assert from 'node:assert/strict';
import type { Publication } from '#ingest/ingest.ts';
import type { Packet } from '#media/packet.ts';
import { behaviour, magnitude, must } from './target.ts';

/** More ticks than any time has: those of a 32-bit clock in milliseconds at the finest timescale, with room for offsets. */
const MAX_TICKS = 2 ** 50;

/** A publication that asserts the contract, and remembers only what tells kinds of behaviour apart. */
export class CheckedPublication implements Publication {
  readonly #kinds = new Set<Packet['kind']>();
  /** The kinds of events that happened, one bit each. */
  #seen = 0;
  #events = 0;
  ends = 0;

  /** A number that tells different kinds of what arrived apart. */
  get behaviour(): number {
    return behaviour(this.#seen, magnitude(this.#events));
  }

  announce(): void {
    assert.equal(this.ends, 0, 'an announcement after the end');
    this.#note(0);
  }

  track({ kind, codec }: { readonly kind: Packet['kind']; readonly codec: string }): void {
    assert.equal(this.ends, 0, 'a track after the end');
    this.#kinds.add(kind);
    this.#note(1 + (codec.charCodeAt(0) & 7) + (codec.length & 1));
  }

  packet({ kind, dts, pts, keyframe, data }: Packet): void {
    assert.equal(this.ends, 0, 'a packet after the end');
    must(this.#kinds.has(kind), () => `${kind} before its track`);
    must(data.length > 0, () => 'an empty packet');
    for (const time of [dts, pts]) must(Math.abs(time) < MAX_TICKS && Number.isFinite(time), () => `a time of ${time}`);
    must(pts >= dts, () => `a frame shown at ${pts} and decoded at ${dts}`);
    this.#note(16 + Number(keyframe) + 2 * Number(pts > dts) + 4 * Number(kind === 'video'));
  }

  silentFor(): void {
    assert.equal(this.ends, 0, 'bytes after the end');
  }

  end(): void {
    this.ends += 1;
  }

  #note(bit: number): void {
    this.#seen |= 1 << bit;
    this.#events += 1;
  }
}
