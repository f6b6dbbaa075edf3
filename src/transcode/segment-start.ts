/**
 * Which picture begins a segment: the mark is on the packet decoded first, but behind it may come pictures shown before it.
 */
import type { Packet, SegmentMark } from '#media/packet.ts';

/** Where a segment begins. Its first picture is the first one shown within these times, in ticks. */
export interface SegmentStart {
  readonly mark: SegmentMark;
  /** Of the picture shown first: before a keyframe of an open group of pictures, and before a cut where there is no keyframe. */
  readonly firstPts: number;
  /** Of the marked packet: where a decoder begins with it, those shown before it are lost. */
  readonly lastPts: number;
}

/**
 * The starts known with one more packet; the same where it tells nothing new.
 * @param packet the next in decoding order
 * @param most starts kept, the newest
 */
export function withPacket(starts: readonly SegmentStart[], packet: Packet, most: number): readonly SegmentStart[] {
  const { pts, mark } = packet;
  if (mark !== undefined) return [...starts, { mark, firstPts: pts, lastPts: pts }].slice(-most);
  const newest = starts.at(-1);
  return newest === undefined || pts >= newest.firstPts ? starts : starts.with(-1, { ...newest, firstPts: pts });
}
