/**
 * Determines which frame begins a segment. The mark is on the packet that is decoded first, but frames that are shown before it may follow
 * it.
 */
import type { SegmentMark } from '#media/packet.ts';
import type { HeldEvent, PacketEvent } from '#media/session-event.ts';

/** A mark with the times that the first frame of its segment may have: it is the first one shown within them. In ticks. */
export interface SegmentStart {
  readonly mark: SegmentMark;
  /** The time of the frame that is shown first: before the keyframe of an open GOP, and before a mark without a keyframe. */
  readonly firstPts: number;
  /**
   * The time of the marked packet, or of a frame held after it. When a decoder begins with that packet, the frames shown before it are
   * lost.
   */
  readonly lastPts: number;
}

/**
 * Returns the known starts after one more event. The same array when the event adds nothing.
 * @param event the next event in decoding order
 * @param most the number of starts to keep, the newest ones
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
  // The decoder may hold the first frame back until the next one arrives. The segment then begins with the held frame.
  if (newest !== undefined && isHeld) return starts.with(-1, { ...newest, lastPts: pts });
  return newest === undefined || pts >= newest.firstPts ? starts : starts.with(-1, { ...newest, firstPts: pts });
}
