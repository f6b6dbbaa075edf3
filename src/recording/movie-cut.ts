/**
 * Cuts a movie out of a recording, exact to the frame: which samples its tracks have, which of them are shown, and which bytes of which
 * volumes follow one another in the file. Pure rules, which read no files.
 *
 * A track begins with the keyframe that its first shown frame needs. Its edit list hides the frames before that one, so nothing is encoded
 * again.
 */
import { sampleEntryType } from '#media/mp4/in-band-configuration.ts';
import { layOut, type MovieCut, type MovieSpan, type TrackCut } from './movie-layout.ts';
import { decodedAt, type MovieTimeline, movieTimelines, partOf, sampleAt, shownAt } from './movie-timeline.ts';
import type { RecordedSamples } from './recorded-samples.ts';

/** The span of a cut in seconds of session time: the frames that are shown at `from` or later, and before `until`. */
export interface CutSpan {
  /** -Infinity: from the first frame. */
  readonly from: number;
  /** Infinity: to the last frame. */
  readonly until: number;
}

/**
 * How much audio precedes the first packet that is heard, in seconds (preroll). A decoder needs it to decode that packet correctly: one
 * packet of AAC, because packets overlap, and 80 ms of Opus (RFC 7845 §4.2).
 */
const AUDIO_PREROLL_S = 0.08;

/**
 * Cuts a movie. The audio is cut where the video begins and ends, exact to the audio sample.
 * @param renditions the video, the audio, or both in this order, each with at least one sample. They must have all segments of the span,
 *   the segments before it from the keyframe that its first frame needs, and one segment after it, because frames are not always shown in
 *   the order in which they are decoded
 * @returns undefined when there is no frame in the span
 */
export function cutMovie(renditions: readonly RecordedSamples[], span: CutSpan): MovieCut | undefined {
  const [leader, follower] = movieTimelines(renditions);
  const leading = leader!.kind === 'video' ? cutVideo(leader!, span) : cutAudio(leader!, audioSpanOf(leader!, span));
  if (leading === undefined) return undefined;
  const following = follower && cutAudio(follower, leading.shown);
  const cuts = following === undefined ? [leading] : [leading, following];
  return layOut(cuts);
}

function cutVideo(timeline: MovieTimeline, { from, until }: CutSpan): TrackCut | undefined {
  const { timescale, partTimes, shifts, samples, parts } = timeline;
  const { durations, compositionOffsets, keyframes } = samples;
  const firstKeyframe = keyframes.indexOf(1);
  if (firstKeyframe === -1) return undefined;
  const playableFrom = shownAt(timeline, firstKeyframe);
  let [begin, shownUntil, next, end] = [Infinity, -Infinity, Infinity, 0];
  for (let part = partOf(timeline, firstKeyframe); part < shifts.length; part++) {
    const lowest = Math.max(playableFrom, from * timescale - shifts[part]!);
    const highest = until * timescale - shifts[part]!;
    const partEnd = parts.firstSamples[part + 1]!;
    let decodedAt = partTimes[part]!;
    for (let sample = parts.firstSamples[part]!; sample < partEnd; sample++) {
      const ticks = decodedAt + compositionOffsets[sample]!;
      decodedAt += durations[sample]!;
      if (sample < firstKeyframe) continue;
      if (ticks >= highest) {
        next = Math.min(next, ticks);
        continue;
      }
      end = sample + 1;
      if (ticks < lowest) continue;
      begin = Math.min(begin, ticks);
      shownUntil = Math.max(shownUntil, ticks + durations[sample]!);
    }
  }
  if (begin === Infinity) return undefined;
  const first = keyframeFor(timeline, begin, firstKeyframe, end);
  const changeAt = codecChangeAfter(timeline, first);
  if (changeAt < end) {
    // No player plays a file in which the codec changes, so the movie ends there.
    const changeAtS = (shownAt(timeline, changeAt) + shifts[partOf(timeline, changeAt)]!) / timescale;
    return cutVideo(timeline, { from, until: Math.min(until, changeAtS) });
  }
  const last = next === Infinity ? shownUntil : next;
  return { timeline, first, end, shown: { from: begin / timescale, until: last / timescale } };
}

/**
 * The last keyframe that is shown at a time or before it, in ticks. A frame that follows a keyframe in decoding order may be shown before
 * that keyframe, and then needs the keyframe before it.
 */
function keyframeFor(timeline: MovieTimeline, ticks: number, firstKeyframe: number, end: number): number {
  const { keyframes } = timeline.samples;
  let found = keyframes.subarray(0, end).lastIndexOf(1);
  while (found > firstKeyframe && shownAt(timeline, found) > ticks) found = keyframes.lastIndexOf(1, found - 1);
  return found;
}

/** The span of the movie in which the audio of a span of session time is heard. */
function audioSpanOf({ timescale, partTimes, shifts }: MovieTimeline, span: CutSpan): MovieSpan {
  let [from, until] = [Infinity, -Infinity];
  for (let part = 0; part < shifts.length; part++) {
    const shift = shifts[part]! / timescale;
    const partFrom = Math.max(partTimes[part]! / timescale, span.from - shift);
    const partUntil = Math.min(partTimes[part + 1]! / timescale, span.until - shift);
    if (partFrom >= partUntil) continue;
    from = Math.min(from, partFrom);
    until = Math.max(until, partUntil);
  }
  return { from, until };
}

/** Takes the packets that are heard in a span of the movie, and the packets before them that the decoder needs. */
function cutAudio(timeline: MovieTimeline, { from, until }: MovieSpan): TrackCut | undefined {
  const { timescale, partTimes } = timeline;
  const endTicks = Math.min(until * timescale, partTimes.at(-1)!);
  const heard = sampleAt(timeline, from * timescale);
  const heardFrom = decodedAt(timeline, heard);
  if (heardFrom >= endTicks || from * timescale >= endTicks) return undefined;
  const begin = Math.max(from * timescale, heardFrom);
  const changeAt = codecChangeAfter(timeline, heard);
  const end = Math.min(sampleAt(timeline, endTicks, 'before') + 1, changeAt);
  const first = sampleAt(timeline, begin - AUDIO_PREROLL_S * timescale);
  const shownUntil = Math.min(endTicks, decodedAt(timeline, end));
  return { timeline, first, end, shown: { from: begin / timescale, until: shownUntil / timescale } };
}

/** The first sample after another one at which the codec changes. The number of samples when it does not change. */
function codecChangeAfter(timeline: MovieTimeline, sample: number): number {
  const { configurations, parts, samples } = timeline;
  const types = configurations.map(({ sampleEntry }) => sampleEntryType(sampleEntry));
  const first = partOf(timeline, sample);
  const type = types[parts.configurations[first]!];
  const change = parts.configurations.findIndex((number, part) => part > first && types[number] !== type);
  return change === -1 ? samples.sizes.length : parts.firstSamples[change]!;
}
