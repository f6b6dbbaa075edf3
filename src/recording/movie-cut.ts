/**
 * Cuts a movie out of what was recorded, exact to the frame: which samples its tracks have, what is shown of them, and which bytes of which volumes
 * follow one another in the file. Pure rules, which read nothing.
 *
 * A track begins with the keyframe that its first frame needs, and its edit list hides what the cut does not show. So nothing is encoded again.
 */
import { sampleEntryType } from '#media/mp4/in-band-configuration.ts';
import { layOut, type MovieCut, type MovieSpan, type TrackCut } from './movie-layout.ts';
import { decodedAt, type MovieTimeline, movieTimelines, partOf, sampleAt, shownAt } from './movie-timeline.ts';
import type { RecordedSamples } from './recorded-samples.ts';

/** The frames that are shown at `from` or after it, and before `until`. Seconds of session time. */
export interface CutSpan {
  /** -Infinity for all frames from the first one. */
  readonly from: number;
  /** Infinity for all frames to the last one. */
  readonly until: number;
}

/**
 * How much audio comes before the first sample that is heard, in seconds. A decoder needs it to give that one right: a packet of AAC, because
 * packets overlap, and 80 ms of Opus (RFC 7845 §4.2).
 */
const AUDIO_PREROLL_S = 0.08;

/**
 * Cuts a movie. The audio is cut at the first and the last frame of the video, to the sample.
 * @param renditions the video, the audio, or both in this order, each with at least one sample. They must have all segments of the span, those
 *   before it from the keyframe that its first frame needs, and one after it, because some frames are shown before others that they follow
 * @returns undefined when there is no frame in the span
 */
export function cutMovie(renditions: readonly RecordedSamples[], span: CutSpan): MovieCut | undefined {
  const [leader, follower] = movieTimelines(renditions);
  const leading = leader!.kind === 'video' ? cutVideo(leader!, span) : cutAudio(leader!, soundIn(leader!, span));
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
    // A file that changes the codec is played by nothing, so it ends there.
    const changeAtS = (shownAt(timeline, changeAt) + shifts[partOf(timeline, changeAt)]!) / timescale;
    return cutVideo(timeline, { from, until: Math.min(until, changeAtS) });
  }
  const last = next === Infinity ? shownUntil : next;
  return { timeline, first, end, shown: { from: begin / timescale, until: last / timescale } };
}

/**
 * The last keyframe that is shown at a time or before. Frames that follow a keyframe in decoding order may be shown before it, and need the
 * keyframe before that one.
 */
function keyframeFor(timeline: MovieTimeline, ticks: number, firstKeyframe: number, end: number): number {
  const { keyframes } = timeline.samples;
  let found = keyframes.subarray(0, end).lastIndexOf(1);
  while (found > firstKeyframe && shownAt(timeline, found) > ticks) found = keyframes.lastIndexOf(1, found - 1);
  return found;
}

/** What is heard of audio in a span of session time. */
function soundIn({ timescale, partTimes, shifts }: MovieTimeline, span: CutSpan): MovieSpan {
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

/** Takes the packets that are heard in a span of the movie, and those that the decoder needs before them. */
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

/** The first sample after another one that has another codec. The number of samples when there is none. */
function codecChangeAfter(timeline: MovieTimeline, sample: number): number {
  const { configurations, parts, samples } = timeline;
  const types = configurations.map(({ sampleEntry }) => sampleEntryType(sampleEntry));
  const first = partOf(timeline, sample);
  const type = types[parts.configurations[first]!];
  const change = parts.configurations.findIndex((number, part) => part > first && types[number] !== type);
  return change === -1 ? samples.sizes.length : parts.firstSamples[change]!;
}
