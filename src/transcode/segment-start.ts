/**
 * Which frame begins a segment: the mark is on the packet that is decoded first, but frames that are shown before it may follow it.
 */
import type { SegmentMark } from '#media/packet.ts';
import type { HeldEvent, PacketEvent } from '#media/session-event.ts';

/** Where a segment begins. Its first frame is the first one shown within these times, in ticks. */
export interface SegmentStart {
  readonly mark: SegmentMark;
  /** Of the frame shown first: it is shown before the keyframe of an open group of pictures, and before a mark without a keyframe. */
  readonly firstPts: number;
  /** Of the marked packet, or of a frame held after it: where a decoder begins with that packet, the frames shown before it are lost. */
  readonly lastPts: number;
}

/**
 * Returns the starts known with one more event; the same ones where it tells nothing new.
 * @param event the next in decoding order
 * @param most how many starts are kept, the newest
 */
export function withEvent(
  starts: readonly SegmentStart[],
  event: PacketEvent | HeldEvent,
  most: number,
): readonly SegmentStart[] {
  const isHeld = event.type === 'held';
  const { pts, mark } = isHeld ? event : event.packet;
  if (mark !== undefined) return [...starts, { mark, firstPts: pts, lastPts: pts }].slice(-most);
  const newest = starts.at(-1);
  // The decoder may keep the frame it should begin with to itself until the next one comes: then it begins with the held one.
  if (newest !== undefined && isHeld) return starts.with(-1, { ...newest, lastPts: pts });
  return newest === undefined || pts >= newest.firstPts ? starts : starts.with(-1, { ...newest, firstPts: pts });
}
