/**
 * Adds up the media of one rendition: bytes, segments and seconds.
 */
import type { SegmentMark } from '#media/packet.ts';
import type { SessionEvent } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';

/**
 * A longer step of media time is an interruption, even without a gap event. Frames may come up to 3.4 s apart before the last one is
 * held, and a held frame is repeated after 2 s at the latest (`frame-hold.ts`).
 */
const HOLE_S = 4;

/** The totals of one rendition, starting at 0. */
export class MediaTotals {
  #bytes = 0;
  #segments = 0;
  #seconds = 0;
  /** The session time until which media was counted, in seconds. Undefined when the next packet does not continue it. */
  #untilS: number | undefined;

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
   * Counts the time and the segments of the next event, but not its bytes.
   * @param track the track of the rendition
   */
  add(event: SessionEvent, track: Pick<Track, 'timescale'> | undefined): void {
    if (track === undefined) return;
    if (event.type === 'packet') this.#reach(event.packet.dts / track.timescale, event.packet.mark);
    else if (event.type === 'held') this.#reach(event.pts / track.timescale, event.mark);
    else if (event.type === 'gap') this.#untilS = undefined;
  }

  /** Counts bytes. */
  addBytes(sizeBytes: number): void {
    this.#bytes += sizeBytes;
  }

  #reach(mediaS: number, mark: SegmentMark | undefined): void {
    if (mark !== undefined) this.#segments += 1;
    const stepS = Math.max(0, mediaS - (this.#untilS ?? mediaS));
    if (stepS <= HOLE_S) this.#seconds += stepS;
    this.#untilS = Math.max(mediaS, this.#untilS ?? mediaS);
  }
}
