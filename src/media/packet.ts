/**
 * The packet: one encoded access unit with its timestamps. The only currency between stages.
 */

import type { Ticks } from '#lib/units.ts';
import type { TrackKind } from './track.ts';

/** Says that a packet is the first of a segment. Decided once per session, obeyed by every rendition. */
export interface SegmentMark {
  /** Ordinal of the segment in its session, from 0; the same in every rendition. */
  readonly ordinal: number;
  /** Whether the segment begins with a keyframe (always so for audio). */
  readonly independent: boolean;
  /** Whether what went before does not continue into this segment: EXT-X-DISCONTINUITY. */
  readonly discontinuity: boolean;
}

/** One encoded access unit. Its bytes are never changed after it was made. */
export interface Packet {
  readonly kind: TrackKind;
  /** Decoding time in ticks of its track's timescale. From ingest: the publisher's clock; after the timeline: session time. */
  readonly dts: Ticks;
  /** Presentation time in the same ticks; at least `dts`. */
  readonly pts: Ticks;
  /** A decoder can start here. Always true for audio. */
  readonly keyframe: boolean;
  /**
   * H.264, H.265: NAL units, each behind its length in as many bytes as the track's configuration says. AV1: the OBUs of a
   * temporal unit, without delimiters. AAC: one raw frame. Opus: one packet. Empty: {@link isHeld}.
   */
  readonly data: Uint8Array;
  /** Set when this packet is the first of a segment. */
  readonly mark?: SegmentMark;
}

/**
 * Whether this is no access unit but says that none came: the picture shown last is shown on at this time. Only from the session to its
 * transcoder.
 */
export function isHeld({ data }: Packet): boolean {
  return data.length === 0;
}

const NOTHING = new Uint8Array();

/** See {@link isHeld}. */
export function heldPicture(at: Ticks): Packet {
  return { kind: 'video', dts: at, pts: at, keyframe: false, data: NOTHING };
}
