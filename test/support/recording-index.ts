/**
 * Indexes of recordings for tests.
 */
import type { TrackDescription } from '#recording/index-record.ts';
import { RecordingIndex } from '#recording/recording-index.ts';

/** A track of H.264 video, as an index describes it. */
export const VIDEO: TrackDescription = {
  kind: 'video',
  codec: 'h264',
  rfc6381: 'avc1.640028',
  timescale: 1000,
  width: 1280,
  height: 720,
  declaredFrameRate: 30,
  videoRange: undefined,
};

/** An index of video segments of two seconds. @param startsS when they begin, in seconds @param epochMs the wall-clock time of 0 */
export function indexOfSegments(startsS: readonly number[], epochMs = 0): RecordingIndex {
  const index = new RecordingIndex();
  index.apply({ type: 'init', rendition: 0, id: 'source', number: 0, track: VIDEO, bytes: new Uint8Array(1) });
  for (const [number, startS] of startsS.entries()) {
    index.apply({
      type: 'segment',
      rendition: 0,
      number,
      volume: 0,
      offset: 0,
      init: 0,
      startTicks: startS * 1000,
      programDateTimeMs: epochMs + startS * 1000,
      discontinuity: false,
      independent: true,
    });
    index.apply({ type: 'part', rendition: 0, sizeBytes: 5, samples: 60, durationTicks: 2000 });
    index.apply({ type: 'segment_end', rendition: 0, durationTicks: 2000 });
  }
  return index;
}
