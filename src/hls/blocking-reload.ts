/**
 * Decides when a playlist request with directives may be answered (rfc8216bis §6.2.5.2). Pure.
 */
import type { PlaylistDirectives, Validity } from './hls.ts';

/** The end of a media playlist. */
export interface PlaylistEdge {
  /** The number of complete segments in the playlist. */
  readonly segments: number;
  /** The media sequence number of the last complete segment. While there is none, one less than that of the first segment. */
  readonly lastMsn: number;
  /** The number of parts in the last complete segment. */
  readonly lastParts: number;
  /** The number of parts in the segment after it. */
  readonly growingParts: number;
  readonly partTargetS: number;
}

/** What to do with a request now. */
export type Readiness =
  | { readonly type: 'now'; readonly validity: Validity }
  | { readonly type: 'wait' }
  | { readonly type: 'bad_request'; readonly reason: string };

/**
 * The number of complete segments that a playlist must list before a request that names no position is answered. With none, hls.js 1.7
 * stops with a fatal `levelEmptyError` and GStreamer's `hlsdemux` with "Invalid manifest". With one, GStreamer's `hlsdemux2` (1.22) never
 * finds the audio that belongs to the video, because it ignores the first segment of a playlist.
 */
const SEGMENTS_TO_START = 2;
/**
 * While there are fewer complete segments than this, the playlist for such a request lists nothing after them. Shaka 5.2 looks for captions
 * in three segments, and throws an error when one of them has only parts.
 */
const SEGMENTS_BEFORE_PARTS = 3;

/** Whether a request is answered with complete segments only, for the reason of {@link SEGMENTS_BEFORE_PARTS}. */
export function seesOnlySegments({ msn }: PlaylistDirectives, { segments }: PlaylistEdge): boolean {
  return msn === undefined && segments < SEGMENTS_BEFORE_PARTS;
}

/** The number of segments that a request may be ahead of the last one (§6.2.5.2). */
const ADVANCE_SEGMENTS = 2;
/** The time in seconds that a request may be ahead, counted in parts, but at least three parts. */
const ADVANCE_S = 3;

/**
 * Decides on a request with directives. Called again whenever the edge has moved.
 *
 * Standard players give up on the playlist of a session that has just begun, so they have to wait. A request without directives waits for
 * {@link SEGMENTS_TO_START} complete segments, and one that names a segment for only one. A player that can begin with parts requests
 * `_HLS_msn=0&_HLS_part=0`, which is answered as soon as there is one part, whatever the first media sequence number is.
 */
export function readiness({ msn, part }: PlaylistDirectives, edge: PlaylistEdge): Readiness {
  if (msn === undefined) {
    if (part === undefined)
      return edge.segments < SEGMENTS_TO_START ? { type: 'wait' } : { type: 'now', validity: 'current' };
    return { type: 'bad_request', reason: '_HLS_part needs _HLS_msn: add the media sequence number.' };
  }
  const growing = edge.lastMsn + 1;
  if (msn > edge.lastMsn + ADVANCE_SEGMENTS) {
    return { type: 'bad_request', reason: `_HLS_msn is more than ${ADVANCE_SEGMENTS} segments ahead of the last one.` };
  }
  // The newest positions are in the last complete segment and after it, so only a small number of URLs can name them.
  const now: Readiness = { type: 'now', validity: msn < edge.lastMsn ? 'unshared' : 'final' };
  const wait: Readiness = { type: 'wait' };
  if (part === undefined) return msn < growing && edge.segments > 0 ? now : wait;
  if (part > partsListed(msn, edge) - 1 + advanceParts(edge.partTargetS)) {
    return { type: 'bad_request', reason: '_HLS_part is too far ahead of the last part.' };
  }
  if (msn > growing) return wait;
  if (msn === growing) return part < edge.growingParts ? now : wait;
  // A part beyond the end of a finished segment means the first part of the next one.
  if (msn === edge.lastMsn && part >= edge.lastParts) return edge.growingParts > 0 ? now : wait;
  return now;
}

function partsListed(msn: number, { lastMsn, lastParts, growingParts }: PlaylistEdge): number {
  if (msn < lastMsn) return Number.POSITIVE_INFINITY;
  if (msn === lastMsn) return lastParts + growingParts;
  return msn === lastMsn + 1 ? growingParts : 0;
}

function advanceParts(partTargetS: number): number {
  return partTargetS < 1 ? Math.ceil(ADVANCE_S / partTargetS) : ADVANCE_S;
}
