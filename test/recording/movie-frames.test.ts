/**
 * Cuts movies out of recordings of real encoders, and looks at what is decoded of them: exactly the frames that were asked for.
 */
import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { type CutSpan, cutMovie } from '#recording/movie-cut.ts';
import { readMovie } from '../support/iso-bmff.ts';
import {
  encodeNumbered,
  encodeTone,
  type NumberedOptions,
  type ShownFrame,
  shifted,
  shownFrames,
  shownFramesOf,
} from '../support/numbered-frames.ts';
import { assemble, type RecordedVolumes, recordVolumes, type Stretch } from '../support/recorded-volumes.ts';
import { needs } from '../support/tools.ts';

/** Session time of the first frame. */
const START_S = 5;
const SEGMENTS_AT_S = [0, 2, 4, 6, 8].map((at) => START_S + at);

const x264 = (bFrames: number) =>
  `libx264 -preset veryfast -threads 1 -g 30 -keyint_min 30 -sc_threshold 0 -bf ${bFrames}`;

interface Case extends Omit<NumberedOptions, 'frames'> {
  readonly what: string;
  readonly audio: 'aac' | 'opus';
  readonly positions: number;
  readonly decoder?: string;
}

const CASES: readonly Case[] = [
  { what: 'H.264 with B-frames and AAC', codec: 'h264', encoder: x264(3), audio: 'aac', positions: 30 },
  {
    what: 'HEVC with B-frames and open GOPs, and AAC',
    codec: 'h265',
    encoder:
      'libx265 -preset ultrafast -x265-params log-level=none:pools=none:keyint=30:min-keyint=30:scenecut=0:bframes=3:open-gop=1',
    audio: 'aac',
    positions: 12,
  },
  {
    what: 'AV1 and Opus',
    codec: 'av1',
    encoder: 'libaom-av1 -usage realtime -cpu-used 8 -g 30',
    audio: 'opus',
    positions: 6,
    // ffmpeg 5.1 shows frames of AV1 that an edit list hides, because it does not pass the edit list to dav1d.
    decoder: 'libaom-av1',
  },
];

/** A movie in a file of its own. */
async function cutInto(
  folder: string,
  renditions: readonly RecordedVolumes[],
  span: CutSpan,
  name = 'movie',
): Promise<string> {
  const cut = cutMovie(
    renditions.map(({ samples }) => samples),
    span,
  );
  assert.ok(cut);
  const path = join(folder, `${name}.mp4`);
  await writeFile(path, assemble(cut, renditions));
  return path;
}

for (const { what, audio, positions, ...options } of CASES) {
  describe(`a movie of ${what}`, needs('ffmpeg'), () => {
    let video: Stretch;
    let renditions: readonly RecordedVolumes[];
    let times: readonly number[];
    let all: readonly ShownFrame[];

    before(async () => {
      video = shifted(await encodeNumbered({ ...options, frames: 300 }), START_S);
      const sound = shifted(await encodeTone(audio, 11), START_S);
      times = video.samples.map(({ pts }) => pts / 90_000).toSorted((a, b) => a - b);
      renditions = [
        recordVolumes([video], { segmentsAtS: SEGMENTS_AT_S }),
        recordVolumes([sound], { segmentsAtS: SEGMENTS_AT_S, samplesPerPart: 16 }),
      ];
    });

    it('shows every frame once, and has the packets that were published', async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-movie-'));
      const path = await cutInto(folder.path, renditions, { from: -Infinity, until: Infinity });
      all = await shownFrames(path, options);
      assert.deepEqual(
        all.map(({ number }) => number),
        Array.from({ length: 300 }, (_, number) => number),
      );
      const [first] = readMovie(await readFile(path));
      assert.deepEqual(
        first!.samples.map(({ data }) => Buffer.from(data)),
        video.samples.map(({ data }) => Buffer.from(data)),
      );
    });

    it(`begins and ends with the frames that were asked for, at ${positions} positions`, async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-movie-'));
      const spans = Array.from({ length: positions }, (_, position) => {
        // The 30 positions of the first case cover every remainder of the GOP's length, and lengths from one frame to more than two segments.
        const first = (position * 133) % 299;
        return { first, end: Math.min(300, first + 1 + ((position * 31) % 150)) };
      });
      const paths = await Promise.all(
        spans.map(({ first, end }, position) => {
          const span = { from: times[first]! - 0.0005, until: (times[end] ?? Infinity) - 0.0005 };
          return cutInto(folder.path, renditions, span, String(position));
        }),
      );
      const shown = await shownFramesOf(paths, options);
      for (const [position, { first, end }] of spans.entries()) {
        assert.deepEqual(shown[position], all.slice(first, end), `frames ${first} to ${end}`);
        const tracks = readMovie(await readFile(paths[position]!));
        assert.equal(tracks.length, 2);
        for (const { shownS } of tracks) {
          assert.ok(Math.abs(shownS - (end - first) / 30) < 0.025, `${shownS} s of ${end - first} frames`);
        }
      }
    });
  });
}
