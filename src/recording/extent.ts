/**
 * Computes the extent of a recording from its index: a pure function.
 */
import { ms } from '#lib/units.ts';
import type { TrackDescription } from './index-record.ts';
import type { Excerpt, RecordedTrack, RecordingExtent } from './recording.ts';
import type { RecordedRendition, RecordingIndex } from './recording-index.ts';

/** The extent of the media that is in an index now. */
export function extentOf(index: RecordingIndex): RecordingExtent {
  const { leader, renditions } = index;
  const first = leader?.segments.at(0);
  const last = leader?.segments.at(leader.segments.count - 1);
  return {
    durationS: leader?.data.durationS ?? 0,
    sizeBytes: renditions.reduce((sum, { data }) => sum + data.sizeBytes, 0),
    fromMs: first && ms(first.programDateTimeMs),
    untilMs: last && ms(Math.round(last.programDateTimeMs + last.durationS * 1000)),
    tracks: index.listed.map(trackOf),
  };
}

/** Seconds of media in an excerpt, pauses excluded. 0 when nothing of it is recorded. */
export function secondsIn({ leader }: RecordingIndex, { fromMs = ms(0), untilMs = ms(Infinity) }: Excerpt): number {
  if (leader === undefined) return 0;
  const { segments } = leader;
  let seconds = 0;
  for (let at = segments.indexAt(fromMs); at <= segments.indexBefore(untilMs); at += 1) {
    const { programDateTimeMs, durationS } = segments.at(at)!;
    const endMs = Math.min(untilMs, programDateTimeMs + durationS * 1000);
    seconds += Math.max(0, endMs - Math.max(fromMs, programDateTimeMs)) / 1000;
  }
  return seconds;
}

function trackOf(rendition: RecordedRendition): RecordedTrack {
  const { id, track, averageBps, framesPerSecond } = rendition;
  const { codec, rfc6381 } = track;
  const common = { rendition: id, codec, rfc6381, bitrateBps: averageBps };
  return { ...common, ...shapeOf(track, framesPerSecond) };
}

function shapeOf(track: TrackDescription, framesPerSecond: number | undefined) {
  if (track.kind === 'audio') {
    const { channels, sampleRate } = track;
    return { kind: 'audio', channels, sampleRate } as const;
  }
  const { width, height } = track;
  const size = { kind: 'video', width, height } as const;
  return framesPerSecond === undefined ? size : { ...size, fps: Math.round(framesPerSecond * 1000) / 1000 };
}
