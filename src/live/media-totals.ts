/**
 * Adds up what passes of one rendition: bytes, segments and seconds of media.
 */
import type { Packet } from '#media/packet.ts';

/** A step of so much media time is an interruption: nothing was there in between. */
const HOLE_S = 2;

/** The sums of one rendition, from 0. */
export class MediaTotals {
  #bytes = 0;
  #segments = 0;
  #seconds = 0;
  #lastS = Number.POSITIVE_INFINITY;

  get bytes(): number {
    return this.#bytes;
  }

  /** Those begun. */
  get segments(): number {
    return this.#segments;
  }

  /** Of media. */
  get seconds(): number {
    return this.#seconds;
  }

  /**
   * The next packet, marked where it begins a segment.
   * @param timescale of its track
   */
  add(packet: Packet, timescale: number): void {
    this.#bytes += packet.data.byteLength;
    if (packet.mark !== undefined) this.#segments += 1;
    const mediaS = packet.dts / timescale;
    const step = mediaS - this.#lastS;
    if (step > 0 && step < HOLE_S) this.#seconds += step;
    this.#lastS = mediaS;
  }

  /** A packet of a rendition whose segments are those of another. */
  addBytes(sizeBytes: number): void {
    this.#bytes += sizeBytes;
  }
}
