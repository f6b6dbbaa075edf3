import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { codecOf } from '#media/codecs.ts';
import { readInit } from '#media/mp4/init-reader.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import type { MovieTrack } from '#media/mp4/movie.ts';
import { CONFIGS } from '#test/fuzz/recorded.ts';
import { cutMovie } from './movie-cut.ts';
import type { RecordedSamples } from './recorded-samples.ts';

const VIDEO = readInit(initSegment(codecOf('h264').parseConfig(CONFIGS.h264[0]!)));
const AUDIO = readInit(initSegment(codecOf('aac').parseConfig(Buffer.from('1190', 'hex'))));
const FRAME_TICKS = 3000;
const PACKET_TICKS = 1024;

/** Stretches of media: how long the publisher was away before each, and how many GOPs of six frames it has. */
const stretches = fc.array(
  fc.record({
    awayS: fc.oneof(fc.constant(0), fc.double({ min: 0.5, max: 5000, noNaN: true })),
    gops: fc.integer({ min: 1, max: 6 }),
    /** The number of frames by which presentation lags behind decoding, as it must with B-frames. */
    delay: fc.integer({ min: 0, max: 3 }),
    audioDelayS: fc.double({ min: 0, max: 0.1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 5 },
);
type Stretches = typeof stretches extends fc.Arbitrary<infer Value> ? Value : never;

/** The same, and in between the machine's clock was set back and the server started again, so that session time went back. */
const steppedBack = fc
  .tuple(stretches, fc.double({ min: 1.6, max: 8, noNaN: true }), stretches)
  .map(([before, backS, [first, ...after]]) => [...before, { ...first!, awayS: -backS }, ...after]);

interface Row {
  readonly segment: number;
  readonly decodeTime: number;
  readonly offset: number;
  readonly duration: number;
  readonly keyframe: boolean;
}

/** A recording with a segment for each GOP, in parts of three frames or eight packets. */
function record(drawn: Stretches) {
  const video: Row[] = [];
  const audio: Row[] = [];
  let segment = -1;
  let atS = 10;
  for (const { awayS, gops, delay, audioDelayS } of drawn) {
    atS += awayS;
    const from = Math.round(atS * 90_000);
    const audioFrom = Math.round((atS + audioDelayS) * AUDIO.timescale);
    let packets = 0;
    for (let gop = 0; gop < gops; gop++) {
      segment += 1;
      for (let frame = 0; frame < 6; frame++) {
        const decodeTime = from + (gop * 6 + frame) * FRAME_TICKS;
        // With a delay, frame 2 of a GOP is shown before frame 1.
        const reordering = delay > 0 ? ([0, 1, -1][frame] ?? 0) : 0;
        const offset = (delay + reordering) * FRAME_TICKS;
        video.push({ segment, decodeTime, offset, duration: FRAME_TICKS, keyframe: frame === 0 });
      }
      for (; packets * PACKET_TICKS < ((gop + 1) * 6 * AUDIO.timescale) / 30; packets++) {
        const decodeTime = audioFrom + packets * PACKET_TICKS;
        audio.push({ segment, decodeTime, offset: 0, duration: PACKET_TICKS, keyframe: true });
      }
    }
    atS += 0.2 * gops + 0.25;
  }
  return { video, audio, renditions: [columns(VIDEO, video, 3), columns(AUDIO, audio, 8)] };
}

function columns(
  description: RecordedSamples['configurations'][number],
  rows: readonly Row[],
  perPart: number,
): RecordedSamples {
  const firsts: number[] = [];
  for (const [index, row] of rows.entries()) {
    const first = firsts.at(-1);
    if (first === undefined || row.segment !== rows[first]!.segment || index - first === perPart) firsts.push(index);
  }
  return {
    configurations: [description],
    parts: {
      firstSamples: Uint32Array.from([...firsts, rows.length]),
      decodeTimes: Float64Array.from(firsts, (index) => rows[index]!.decodeTime),
      segments: Uint32Array.from(firsts, (index) => rows[index]!.segment),
      configurations: new Uint16Array(firsts.length),
      volumes: Uint32Array.from(firsts, (index) => rows[index]!.segment >> 1),
      offsets: Float64Array.from(firsts, (index) => 1000 + index * 500),
    },
    samples: {
      // No two samples have the same size, so that tests can identify them.
      sizes: Uint32Array.from(rows, (_, index) => index + 1),
      durations: Uint32Array.from(rows, ({ duration }) => duration),
      compositionOffsets: Int32Array.from(rows, ({ offset }) => offset),
      keyframes: Uint8Array.from(rows, ({ keyframe }) => Number(keyframe)),
    },
  };
}

/** When each sample of a track is shown, in seconds of the movie. */
function shownTimes({ samples, edit, timescale }: MovieTrack): readonly number[] {
  let ticks = 0;
  return Array.from(samples.durations, (duration, index) => {
    const shownAt = ticks + samples.compositionOffsets[index]!;
    ticks += duration;
    return (shownAt - edit.mediaTime) / timescale + edit.delayTicks / 90_000;
  });
}

const shownAtS = ({ decodeTime, offset }: Row): number => (decodeTime + offset) / 90_000;

describe('a cut', () => {
  it('of everything has every frame, in step with the audio, and nothing of the time that was left out', () => {
    fc.assert(
      fc.property(fc.oneof(stretches, steppedBack), (drawn) => {
        const { video, audio, renditions } = record(drawn);
        const [videoTrack, audioTrack] = cutMovie(renditions, { from: -Infinity, until: Infinity })!.tracks;
        assert.equal(videoTrack!.samples.sizes.length, video.length);
        assert.ok(videoTrack!.samples.durations.every((duration) => duration > 0));
        const frames = shownTimes(videoTrack!);
        const packets = shownTimes(audioTrack!);
        const firstPacket = audioTrack!.samples.sizes[0]! - 1;
        // What is between two samples is the same in the movie and in the session, except where time was left out of both tracks.
        for (const [index, row] of video.entries()) {
          const next = audio.findIndex(
            ({ segment }, at) => segment === row.segment && packets[at - firstPacket] !== undefined,
          );
          if (next === -1) continue;
          const inMovie = packets[next - firstPacket]! - frames[index]!;
          const inSession = audio[next]!.decodeTime / AUDIO.timescale - shownAtS(row);
          assert.ok(Math.abs(inMovie - inSession) < 0.0001, `${inMovie} instead of ${inSession}`);
        }
        const lastS = Math.max(...frames);
        const mediaS = video.length / 30 + 0.35 * drawn.length;
        assert.ok(lastS <= mediaS && lastS >= (video.length - 1) / 30 - 0.001, `${lastS} s of ${mediaS}`);
      }),
    );
  });

  it('shows the frames of its span and no others, and begins with a keyframe', () => {
    fc.assert(
      fc.property(stretches, fc.nat(), fc.nat(), (drawn, first, length) => {
        const { video, renditions } = record(drawn);
        const times = video.map(shownAtS).toSorted((a, b) => a - b);
        const from = times[first % times.length]!;
        const until = times[(first % times.length) + 1 + (length % 20)] ?? Infinity;
        const cut = cutMovie(renditions, { from: from - 0.0005, until: until - 0.0005 })!;
        const [track] = cut.tracks;
        assert.equal(track!.samples.keyframes[0], 1);
        const endS = track!.edit.shownTicks / 90_000;
        const seen = shownTimes(track!).filter((atS) => atS > -0.0001 && atS < endS - 0.0001);
        assert.equal(seen.length, times.filter((atS) => atS >= from && atS < until).length);
        assert.ok(Math.abs(Math.min(...seen)) < 0.0001);
      }),
    );
  });

  it('has each sample once, where the volumes have it', () => {
    fc.assert(
      fc.property(fc.oneof(stretches, steppedBack), (drawn) => {
        const { renditions } = record(drawn);
        const { tracks, ranges } = cutMovie(renditions, { from: -Infinity, until: Infinity })!;
        for (const [index, { chunks, samples }] of tracks.entries()) {
          assert.equal(
            chunks.samples.reduce((sum, count) => sum + count, 0),
            samples.sizes.length,
          );
          let first = 0;
          for (const [chunk, offset] of chunks.offsets.entries()) {
            const sizes = samples.sizes.subarray(first, first + chunks.samples[chunk]!);
            first += sizes.length;
            const range = ranges.positions.findLastIndex((position) => position <= offset);
            assert.equal(ranges.renditions[range], index);
            assert.ok(offset + sizes.reduce((sum, size) => sum + size, 0) <= ranges.positions[range + 1]!);
            // A chunk that begins within a part is where the part's earlier samples end.
            const { parts, samples: recorded } = renditions[index]!;
            const sample = sizes[0]! - 1;
            const part = parts.firstSamples.findLastIndex((from) => from <= sample);
            const before = recorded.sizes
              .subarray(parts.firstSamples[part], sample)
              .reduce((sum, size) => sum + size, 0);
            const inVolume = ranges.offsets[range]! + offset - ranges.positions[range]!;
            assert.equal(inVolume, parts.offsets[part]! + before);
            assert.equal(ranges.volumes[range], parts.volumes[part]);
          }
        }
      }),
    );
  });
});
