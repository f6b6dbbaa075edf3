/**
 * Adds up the media of one rendition: bytes, segments and seconds.
 */
import type { Packet } from '#media/packet.ts';

/** A step of this much media time is an interruption without media. */
const HOLE_S = 2;

/** The totals of one rendition, starting at 0. */
export class MediaTotals {
  #bytes = 0;
  #segments = 0;
  #seconds = 0;
  #lastS = Number.POSITIVE_INFINITY;

  /** The bytes of media. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Segments started. */
  get segments(): number {
    return this.#segments;
  }

  /** Seconds of media, interruptions excluded. */
  get seconds(): number {
    return this.#seconds;
  }

  /**
   * Takes the next packet, which is marked where it begins a segment.
   * @param timescale the timescale of its track
   */
  add(packet: Packet, timescale: number): void {
    this.#bytes += packet.data.byteLength;
    if (packet.mark !== undefined) this.#segments += 1;
    const mediaS = packet.dts / timescale;
    const step = mediaS - this.#lastS;
    if (step > 0 && step < HOLE_S) this.#seconds += step;
    this.#lastS = mediaS;
  }

  /** Takes a packet of a rendition whose segments are those of another rendition. */
  addBytes(sizeBytes: number): void {
    this.#bytes += sizeBytes;
  }
}
