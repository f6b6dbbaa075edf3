/**
 * Checks everything that a viewer gets from live runs of real encoders, from the first answer to the end, against the rules of low-latency HLS.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { type Attributes, type PlaylistSegment, readMediaPlaylist } from '../support/hls-playlist.ts';
import { readTrack } from '../support/iso-bmff.ts';
import type { AudioJob, VideoJob } from '../support/publisher-protocol.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP } from '../support/server.ts';
import { inTime, startSteppedServer } from '../support/stepped-server.ts';
import {
  assertAligned,
  assertEveryFrame,
  assertLoaded,
  assertMedia,
  assertParsersAgree,
  assertRules,
  bytesOf,
  decodeRuns,
  measuredRates,
  renditionOf,
  seenSegments,
  variantsOf,
} from './judge.ts';
import { publishWatched } from './stepped-watch.ts';
import type { Watched } from './viewer.ts';

/** The logger's number for a warning. */
const WARN = 40;

interface Run {
  readonly what: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly media: {
    readonly durationS: number;
    readonly video: Partial<VideoJob>;
    readonly audio?: Partial<AudioJob>;
  };
  /** Whether the run lasts longer than the playlist window. */
  readonly slides: boolean;
  readonly frameRate: string;
  /** Codes of the warnings that the run raises. */
  readonly warnings: readonly string[];
}

const RUNS: readonly Run[] = [
  {
    what: 'B-frames, a keyframe each second, a window that slides',
    settings: { MILLRACE_SEGMENT_TARGET_DURATION_S: '2', MILLRACE_PLAYLIST_WINDOW_S: '16' },
    media: { durationS: 21, video: { bFrames: 2, tune: undefined, preset: 'veryfast' } },
    slides: true,
    frameRate: '30.000',
    warnings: [],
  },
  {
    what: 'OBS’s default of a keyframe every 250 frames, at 29.97 fps, audio at 44.1 kHz, plain settings',
    settings: {},
    media: {
      durationS: 15,
      video: { gop: 250, fps: { num: 30_000, den: 1001 } },
      audio: { sampleRate: 44_100 },
    },
    slides: false,
    frameRate: '29.970',
    warnings: ['keyframe_interval_too_long'],
  },
];

const recordings = new Map<Run, Watched>();
before(async () => {
  for (const run of RUNS) recordings.set(run, await record(run));
});

for (const run of RUNS) {
  describe(run.what, () => {
    const watched = () => recordings.get(run)!;
    const rendition = (name: string) => renditionOf(watched(), name);

    test('every URI a playlist names can be fetched, from the first answer to the end', () => {
      assertLoaded(watched());
      for (const viewing of watched().renditions.values()) {
        assert.ok(readMediaPlaylist(viewing.reloads.at(-1)!.text).ended);
        assert.ok(seenSegments(viewing).length >= 4);
      }
    });

    test('every playlist keeps every rule', () => assertRules(watched()));

    test('each part comes with a reload of its own, and delta updates skip as soon as possible', () => {
      for (const { reloads } of watched().renditions.values()) {
        const parts = new Set(reloads.flatMap(({ text }) => readMediaPlaylist(text).segments.flatMap(partUris)));
        assert.ok(reloads.length >= parts.size * 0.9, `${reloads.length} reloads for ${parts.size} parts`);
        const deltas = reloads.filter(({ delta }) => delta !== undefined);
        assert.ok(deltas.length >= reloads.length * 0.8, `${deltas.length} delta updates of ${reloads.length}`);
        const skips = deltas.filter(({ delta }) => readMediaPlaylist(delta!).skipped > 0);
        assert.ok(skips.length > 0);
        assert.equal(readMediaPlaylist(reloads.at(-1)!.text).mediaSequence > 0, run.slides);
      }
    });

    test('two other parsers read the same', () => {
      for (const viewing of watched().renditions.values()) assertParsersAgree(viewing);
    });

    test('parts are their segment byte for byte, times are contiguous, durations and dates are true', () => {
      const epochs = [...watched().renditions.values()].map(assertMedia);
      assert.ok(Math.max(...epochs) - Math.min(...epochs) <= 1.01, `dates of renditions differ: ${epochs.join(' ')}`);
      assertAligned(watched());
    });

    test('codecs, size and frame rate in the first answer are right', () => {
      const variant = variantOf(watched().multivariant[0]!.body.toString());
      const inits = [rendition('source'), rendition('audio')].map((each) => {
        const [segment] = seenSegments(each);
        return readTrack(bytesOf(each, segment!.map));
      });
      assert.equal(variant.get('CODECS'), inits.map(({ codecString }) => codecString).join());
      assert.equal(variant.get('RESOLUTION'), `${inits[0]!.width}x${inits[0]!.height}`);
      assert.equal(variant.get('FRAME-RATE'), run.frameRate);
    });

    test('bandwidths are measured after ten seconds, within the bounds of Apple', () => {
      const variant = variantOf(watched().multivariant.at(-1)!.body.toString());
      const rates = [rendition('source'), rendition('audio')].map(measuredRates);
      const peakBps = rates.reduce((sum, each) => sum + each.peakBps, 0);
      const averageBps = rates.reduce((sum, each) => sum + each.averageBps, 0);
      const [declaredPeak, declaredAverage] = [
        Number(variant.get('BANDWIDTH')),
        Number(variant.get('AVERAGE-BANDWIDTH')),
      ];
      assert.ok(peakBps < declaredPeak * 1.25, `peak ${peakBps} of ${declaredPeak}`);
      assert.ok(averageBps < declaredAverage * 1.1, `average ${averageBps} of ${declaredAverage}`);
      assert.ok(declaredAverage < averageBps * 1.25, `said to be ${declaredAverage}, not ${averageBps}`);
    });

    test('all frames and all audio exist and are in step', async () => {
      const [[video], [audio]] = await Promise.all([decodeRuns(rendition('source')), decodeRuns(rendition('audio'))]);
      assertEveryFrame(video!, 0);
      assert.deepEqual(audio!.complaints, []);
      assert.equal(audio!.audio?.sampleRate, run.media.audio?.sampleRate ?? 48_000);
      const { num, den } = run.media.video.fps ?? { num: 30, den: 1 };
      const startS = video!.frames[0]!.ptsS;
      const beeps = audio!.audio!.beepsS.map((beepS) => beepS - startS);
      assert.ok(beeps.length >= run.media.durationS - 1);
      for (const [index, beepS] of beeps.entries()) {
        // The first frame of a second is up to one frame late. AAC delays the audio by one audio frame.
        assert.ok(Math.abs(beepS - Math.round(beepS)) < 0.06 + den / num, `beep ${index} at ${beepS} s`);
      }
    });
  });
}

async function record(run: Run): Promise<Watched> {
  const media = await recordMedia(run.media);
  await using server = await startSteppedServer({ settings: { ...CHEAP, ...run.settings } });
  const stream = await server.api.createStream();
  const watched = await publishWatched(server, stream, inTime(media));
  const logged = server.logLines.map((line) => JSON.parse(line) as { level: number; code?: string });
  assert.deepEqual(
    logged.filter(({ level }) => level >= WARN).map(({ code }) => code),
    run.warnings,
  );
  return watched;
}

const partUris = ({ parts }: PlaylistSegment): readonly string[] => parts.map(({ uri }) => uri);

function variantOf(multivariant: string): Attributes {
  return variantsOf(multivariant).get('source')!;
}
