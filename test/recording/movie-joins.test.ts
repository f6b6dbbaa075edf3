/**
 * Movies of recordings with pauses and with encoders that change their settings, and movies of audio alone.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type CutSpan, cutMovie } from '#recording/movie-cut.ts';
import { type MovieTrackRead, readMovie } from '../support/iso-bmff.ts';
import { encodeNumbered, encodeTone, shifted, shownFrames } from '../support/numbered-frames.ts';
import { assemble, type RecordedVolumes, recordVolumes, type Stretch } from '../support/recorded-volumes.ts';
import { needs } from '../support/tools.ts';

const run = promisify(execFile);

const WHOLE: CutSpan = { from: -Infinity, until: Infinity };
const RATE = 48_000;

/** How long each stretch is, and when the second one begins, in seconds. */
const STRETCH_S = 4;
const SECOND_AT_S = 60;
const SEGMENTS_AT_S = [0, 2, SECOND_AT_S, SECOND_AT_S + 2];

const x264 = (bFrames: number) => `libx264 -preset veryfast -g 30 -keyint_min 30 -sc_threshold 0 -bf ${bFrames}`;
const FIRST = { codec: 'h264', encoder: x264(0), frames: 120 } as const;
const SECOND = { codec: 'h264', encoder: x264(3), frames: 120, firstNumber: 120 } as const;

function movie(renditions: readonly RecordedVolumes[], span: CutSpan): Uint8Array {
  const cut = cutMovie(
    renditions.map(({ samples }) => samples),
    span,
  );
  assert.ok(cut);
  return assemble(cut, renditions);
}

async function framesOf(file: Uint8Array, decoder?: string): Promise<readonly number[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-movie-'));
  const path = join(folder.path, 'movie.mp4');
  await writeFile(path, file);
  return (await shownFrames(path, { decoder })).map(({ number }) => number);
}

/** The audio that ffmpeg decodes from a file, as 16-bit samples of the left channel. */
async function heard(file: Uint8Array): Promise<Int16Array> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-movie-'));
  const path = join(folder.path, 'movie.m4a');
  await writeFile(path, file);
  const args = [
    ...'-nostdin -v error -xerror -i'.split(' '),
    path,
    ...'-map 0:a -af pan=mono|c0=c0 -f s16le -'.split(' '),
  ];
  const { stdout, stderr } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 2 ** 28 });
  assert.equal(String(stderr), '');
  return new Int16Array(new Uint8Array(stdout).buffer);
}

const numbers = (from: number, until: number) => Array.from({ length: until - from }, (_, index) => from + index);

/** When a sample is shown, in seconds of the movie. */
function shownAtS(track: MovieTrackRead, index: number, timescale: number): number {
  return (track.samples[index]!.pts - track.edits.at(-1)!.mediaTime) / timescale;
}

describe('a movie of a recording with a pause', needs('ffmpeg'), () => {
  let first: Stretch;
  let sound: Stretch;

  before(async () => {
    first = await encodeNumbered(FIRST);
    sound = await encodeTone('aac', STRETCH_S);
  });

  /** A recording whose publisher came back with other settings. */
  function recorded(second: Stretch): readonly RecordedVolumes[] {
    return [
      recordVolumes([first, shifted(second, SECOND_AT_S)], { segmentsAtS: SEGMENTS_AT_S }),
      recordVolumes([sound, shifted(sound, SECOND_AT_S)], { segmentsAtS: SEGMENTS_AT_S, samplesPerPart: 16 }),
    ];
  }

  it('is without the pause, and audio and video go on in step', async () => {
    const second = await encodeNumbered(SECOND);
    const renditions = recorded(second);
    const file = movie(renditions, WHOLE);
    assert.deepEqual(await framesOf(file), numbers(0, 240));
    const [video, audio] = readMovie(file);
    const packets = sound.samples.length;
    const videoAtS = shownAtS(video!, 120, 90_000);
    const audioAtS = shownAtS(audio!, packets, RATE);
    // As far apart as they were published.
    const [published] = second.samples;
    assert.ok(Math.abs(videoAtS - audioAtS - published!.pts / 90_000) < 0.001, `${videoAtS} and ${audioAtS} s`);
    assert.ok(Math.abs(videoAtS - STRETCH_S) < 0.15, `the second stretch begins at ${videoAtS} s`);
    const decoded = video!.samples.map(({ dts }) => dts);
    assert.ok(decoded.every((dts, index) => index === 0 || dts > decoded[index - 1]!));
  });

  it('can begin and end on either side of it', async () => {
    const renditions = recorded(await encodeNumbered(SECOND));
    const across = movie(renditions, { from: 3.4 - 0.0005, until: SECOND_AT_S + 0.4 });
    assert.deepEqual(await framesOf(across), numbers(102, 130));
    const within = movie(renditions, { from: 20, until: SECOND_AT_S + 0.4 });
    assert.deepEqual(await framesOf(within), numbers(120, 130));
    assert.equal(
      cutMovie(
        renditions.map(({ samples }) => samples),
        { from: 20, until: 30 },
      ),
      undefined,
    );
  });

  it('shows frames of both sizes when the size changed', async () => {
    const second = await encodeNumbered({ ...SECOND, width: 640, height: 360 });
    const file = movie(recorded(second), WHOLE);
    const [video] = readMovie(file);
    assert.deepEqual(video!.sampleEntries, ['avc1', 'avc1']);
    assert.deepEqual(await framesOf(file), numbers(0, 240));
    // Every keyframe has its parameter sets before it, which Chromium needs.
    const [keyframe] = second.samples;
    const kept = Buffer.from(video!.samples[120]!.data);
    assert.ok(kept.subarray(-keyframe!.data.length).equals(keyframe!.data));
    assert.equal(kept[4]! & 0x1f, 7);
  });

  it('ends where the codec changed, and what follows is a movie of its own', async () => {
    const x265 = 'libx265 -preset ultrafast -x265-params log-level=none:pools=none:keyint=30';
    const renditions = recorded(await encodeNumbered({ ...SECOND, codec: 'h265', encoder: x265 }));
    assert.deepEqual(await framesOf(movie(renditions, WHOLE)), numbers(0, 120));
    assert.deepEqual(await framesOf(movie(renditions, { from: 30, until: Infinity })), numbers(120, 240));
  });
});

/**
 * Tolerances for faults of ffmpeg 5.1: it cuts the end at a packet. Of Opus it decodes nothing before the first sample, so that the decoder's
 * output is wrong at first, and it leaves out the first 312 samples when no edit list hides them.
 */
const ALONE = [
  { codec: 'aac', settlesAfter: 0, leftOut: 0, longest: 1023 },
  { codec: 'opus', settlesAfter: RATE / 5, leftOut: 312, longest: 959 },
] as const;

describe('a movie of audio alone', needs('ffmpeg'), () => {
  for (const { codec, settlesAfter, leftOut, longest } of ALONE) {
    it(`of ${codec} begins and ends with the samples that were asked for`, async () => {
      const segmentsAtS = [0, 2, 4];
      const sound = recordVolumes([await encodeTone(codec, 6)], { segmentsAtS, samplesPerPart: 16 });
      const all = await heard(movie([sound], WHOLE));
      for (const [from, until] of [
        [96_000, 144_000],
        [60_123, 100_001],
        [2 * RATE - 1, 2 * RATE + 50_000],
      ] as const) {
        const part = await heard(movie([sound], { from: from / RATE, until: until / RATE }));
        const more = part.length - (until - from);
        assert.ok(more >= 0 && more <= longest, `${more} samples more`);
        let furthest = 0;
        for (let at = settlesAfter; at < until - from; at++) {
          furthest = Math.max(furthest, Math.abs(part[at]! - all[from - leftOut + at]!));
        }
        assert.ok(furthest <= 2, `a sample differs by ${furthest}`);
      }
    });
  }
});
