/**
 * Which picture begins a segment: the mark is on the packet decoded first, but behind it may come pictures shown before it.
 */
import { isHeld, type Packet, type SegmentMark } from '#media/packet.ts';

/** Where a segment begins. Its first picture is the first one shown within these times, in ticks. */
export interface SegmentStart {
  readonly mark: SegmentMark;
  /** Of the picture shown first: before a keyframe of an open group of pictures, and before a cut where there is no keyframe. */
  readonly firstPts: number;
  /** Of the marked packet, or of a picture held behind it: where a decoder begins with it, those shown before it are lost. */
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
  // The decoder may keep the picture it should begin with to itself until the next one comes: then it begins with the one held.
  if (newest !== undefined && isHeld(packet)) return starts.with(-1, { ...newest, lastPts: pts });
  return newest === undefined || pts >= newest.firstPts ? starts : starts.with(-1, { ...newest, firstPts: pts });
}
