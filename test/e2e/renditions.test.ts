/**
 * Renditions as viewers get them: each is decoded and compared with the source, frame by frame and tick by tick, and a browser switches
 * between them.
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Static } from 'typebox';
import type { HealthSchema } from '#api/schemas/health.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { ProfileObject } from '../support/api-client.ts';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import type { Decoded, DecodedFrame } from '../support/decode.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { checkPresentation } from '../support/hls-rules.ts';
import { readTrack } from '../support/iso-bmff.ts';
import { startPublisher } from '../support/publisher.ts';
import type { VideoJob } from '../support/publisher-protocol.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP, startServerProcess, type TestServer } from '../support/server.ts';
import { inTime, type SteppedServer, startSteppedServer } from '../support/stepped-server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  assertAligned,
  assertEveryFrame,
  assertLoaded,
  assertMedia,
  assertRules,
  bytesOf,
  decodeOnlyRun,
  measuredRates,
  renditionOf,
  seenSegments,
  variantsOf,
} from './judge.ts';
import {
  assertContinuous,
  firstFrameSince,
  framesFrom,
  readFrames,
  type SeenFrame,
  seen,
  withoutRepeatedFrames,
} from './seen-frames.ts';
import { publishWatched } from './stepped-watch.ts';
import { get, startWatching, type Viewing, type Watched } from './viewer.ts';

/** Bitrates are measured after ten seconds. */
const DURATION_S = 13;
/** By then every rendition has been measured. */
const MEASURED_AT_MS = 8000;
const FPS = 30;
/** Few frames per second, so that a slow machine can encode, decode and draw them in time. */
const FPS_IN_BROWSER = 15;
/** The largest allowed distance between audio and video. */
const IN_STEP_S = 0.04;

/** A rendition that lags this much and a part behind the source gets gaps. */
const LATEST_S = 1.35;

/** What is expected of a rendition. */
interface Expected {
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** The largest average bitrate, in bits per second. */
  readonly bitrateBps: number;
}

interface Run {
  readonly what: string;
  readonly video: Partial<VideoJob>;
  /** The profiles of the stream. Undefined when it is created without the field. */
  readonly profiles: readonly (ProfileObject & { readonly gop?: string })[] | undefined;
  /** By name, in the order of the alphabet. */
  readonly renditions: Readonly<Record<string, Expected>>;
  readonly leftOut: readonly string[];
}

const defaultBitrate = (name: string) => DEFAULT_PROFILES.find((profile) => profile.name === name)!.bitrate;

const RUNS: readonly Run[] = [
  {
    what: 'a source with a keyframe every ten seconds; a box of another shape, half the frames, and one too large',
    video: { width: 480, height: 270, gop: 10 * FPS, bitrateBps: 600_000 },
    profiles: [
      { name: 'boxed', bitrate: 300_000, fps: 0, width: 416, height: 416 },
      { name: 'slow', bitrate: 200_000, fps: FPS / 2, width: 320, height: 180, gop: '1' },
      { name: 'huge', bitrate: 3_000_000, fps: 0, width: 1280, height: 720 },
    ],
    renditions: {
      boxed: { width: 416, height: 234, fps: FPS, bitrateBps: 300_000 },
      slow: { width: 320, height: 180, fps: FPS / 2, bitrateBps: 200_000 },
    },
    leftOut: ['huge'],
  },
  {
    what: 'a portrait source with B-frames, and the default ladder',
    video: {
      width: 360,
      height: 480,
      gop: 2 * FPS,
      bFrames: 2,
      tune: undefined,
      preset: 'veryfast',
      bitrateBps: 900_000,
    },
    profiles: undefined,
    renditions: {
      '240p0': { width: 240, height: 320, fps: FPS, bitrateBps: defaultBitrate('240p0') },
      '360p0': { width: 360, height: 480, fps: FPS, bitrateBps: defaultBitrate('360p0') },
    },
    leftOut: ['480p0', '720p0'],
  },
];

/** One run, and what the API showed the stream's owner during it. */
interface Recording {
  readonly watched: Watched;
  readonly health: Static<typeof HealthSchema>;
}

/** One server for all sessions, of which one at a time is live. */
let stepped: SteppedServer;
const recordings = new Map<Run, Recording>();
before(async () => {
  stepped = await startSteppedServer();
  for (const run of RUNS) recordings.set(run, await record(run));
});
after(() => stepped?.[Symbol.asyncDispose]());

for (const run of RUNS) {
  describe(run.what, () => {
    const watched = () => recordings.get(run)!.watched;
    const rendition = (name: string) => renditionOf(watched(), name);
    const names = Object.keys(run.renditions);
    const videos = ['source', ...names];

    test('the renditions that fit exist, and profiles that are left out are reported', () => {
      const { multivariant } = watched();
      const [first, ...others] = variantsOf(multivariant.at(-1)!.body.toString()).keys();
      assert.deepEqual([first, ...others.sort()], videos);
      const { health } = recordings.get(run)!;
      assert.deepEqual(
        health.leftOut,
        run.leftOut.map((name) => ({ name, reason: 'larger_than_source' })),
      );
      assert.deepEqual(
        health.renditions.map(({ name, state }) => [name, state]),
        names.map((name) => [name, 'running']),
      );
    });

    test('every URI can be fetched, every playlist keeps every rule, and renditions are within one part of the source', () => {
      assertLoaded(watched());
      assertRules(watched(), { stepS: LATEST_S });
      assertAligned(watched());
      const { moments } = watched();
      const pictures = (texts: ReadonlyMap<string, string>) =>
        new Map([...texts].filter(([uri]) => !uri.endsWith('/audio.m3u8')));
      const apart = moments.filter(
        ({ before, after }) => checkPresentation(pictures(before), { after: pictures(after) }).length > 0,
      );
      assert.ok(moments.length >= 5 && apart.length === 0, `${apart.length} of ${moments.length} moments`);
    });

    test('parts are their segment byte for byte, times are contiguous, durations and dates are true', () => {
      const epochs = [...watched().renditions.values()].map(assertMedia);
      assert.ok(Math.max(...epochs) - Math.min(...epochs) <= 1.01, `dates of renditions differ: ${epochs.join(' ')}`);
    });

    test('segments of one number begin at the same tick in every rendition, each with a keyframe', () => {
      const source = segmentStarts(rendition('source'));
      for (const name of names) {
        const starts = segmentStarts(rendition(name));
        assert.ok(starts.size >= 3, `${name} has ${starts.size} segments`);
        assert.deepEqual([...starts.keys()], [...source.keys()].slice(-starts.size), `${name}: numbers`);
        for (const [msn, { tick, keyframe }] of starts) {
          assert.equal(tick, source.get(msn)!.tick, `${name}: segment ${msn}`);
          assert.ok(keyframe, `${name}: segment ${msn} begins with a keyframe`);
        }
      }
    });

    test('every rendition shows the frames of the source at their ticks, at its own size, with audio in step', async () => {
      const [source, audio, ...decoded] = await Promise.all(
        ['source', 'audio', ...names].map((name) => decodeOnlyRun(rendition(name))),
      );
      assertEveryFrame(source!, 0);
      const counters = countersByTick(source!.frames);
      assert.deepEqual(audio!.complaints, []);
      assertSoundInStep(audio!, source!.frames);
      for (const [index, name] of names.entries()) {
        const { frames, complaints } = decoded[index]!;
        const expected = run.renditions[name]!;
        assert.deepEqual(complaints, []);
        for (const [tick, counter] of countersByTick(frames))
          assert.equal(counter, counters.get(tick), `${name} ${tick}`);
        assertFrameRate(name, frames, expected.fps);
        for (const { width, height } of frames)
          assert.deepEqual({ width, height }, { width: expected.width, height: expected.height });
        assertSoundInStep(audio!, frames);
      }
    });

    test('the multivariant playlist describes each variant correctly', () => {
      const variants = variantsOf(watched().multivariant.at(-1)!.body.toString());
      const audio = measuredRates(rendition('audio'));
      for (const name of videos) {
        const variant = variants.get(name)!;
        const { peakBps, averageBps } = measuredRates(rendition(name));
        const [peak, average] = [Number(variant.get('BANDWIDTH')), Number(variant.get('AVERAGE-BANDWIDTH'))];
        // Apple 9.x: a peak may exceed what was declared by a quarter; the list is older than the last segments.
        assert.ok(peakBps + audio.peakBps < peak * 1.25, `${name}: peak ${peakBps + audio.peakBps} of ${peak}`);
        const bothBps = averageBps + audio.averageBps;
        assert.ok(bothBps < average * 1.1 && average < bothBps * 1.25, `${name}: average ${bothBps} of ${average}`);
        const track = readTrack(bytesOf(rendition(name), seenSegments(rendition(name))[0]!.map));
        const codecs = (variant.get('CODECS') ?? '').split(',');
        assert.deepEqual(codecs, [track.codecString, 'mp4a.40.2']);
        assert.equal(variant.get('RESOLUTION'), `${track.width}x${track.height}`);
        const expected = run.renditions[name];
        assert.equal(variant.get('FRAME-RATE'), (expected?.fps ?? FPS).toFixed(3));
        if (expected === undefined) continue;
        assert.ok(averageBps < expected.bitrateBps * 1.1, `${name}: ${averageBps} bit/s`);
        // The encoder's buffer allows a segment to have one and a half times the bitrate, whatever the frames show.
        assert.ok(peakBps < peak && expected.bitrateBps * 1.5 < peak, `${name}: peak ${peakBps} of ${peak}`);
      }
    });
  });
}

test('a stream with an empty list of profiles has its source only, and no transcoder', async () => {
  const stream = await stepped.api.createStream({ profiles: [] });
  await using client = await stepped.connect(stream);
  await stepped.send(client, { stream, sendings: inTime(fixtureTags()) });
  const index = await waitFor(() => indexOf(stepped, stream.playbackId), { what: 'the stream to be there' });
  assert.deepEqual([...variantsOf(index).keys()], ['source']);
  assert.equal((await healthOf(stepped, stream.id)).transcoder, undefined);
});

describe('in Chromium', NEEDS_CHROMIUM, () => {
  test('the player page plays the ladder by itself, and switches through its variants without a stall', async (t) => {
    let switched = await switchThroughLadder();
    for (let again = 0; again < 2 && switched.longestMs >= LATE_MS; again += 1) switched = await switchThroughLadder();
    const { shown, waits, ranges, seeks, errors, failedRequests, longestMs } = switched;
    const [first, last] = [shown[0]!, shown.at(-1)!];
    const speed = (last.mediaS - first.mediaS) / ((last.atMs - first.atMs) / 1000);
    note(t, { speed, waits, seeks, longestMs });
    assertContinuous(longestMs < LATE_MS ? shown : withoutRepeatedFrames(shown), FPS_IN_BROWSER);
    // A player leaves a hole only when it seeks over media that came too late.
    assert.ok(ranges === 1 || (longestMs >= LATE_MS && seeks > 0), `${ranges} ranges in the buffer, ${seeks} seeks`);
    // No player can play media that the machine made too late or not at all, as another viewer has noticed.
    if (longestMs < LATE_MS) {
      const widths = runsOfWidths(shown);
      assert.deepEqual(new Set(widths), new Set(Object.values(WIDTHS)), `pictures ${widths.join()} pixels wide`);
      assert.ok(widths.length >= 5, `switched to ${widths.join()}`);
      assert.deepEqual({ waits, seeks }, { waits: 0, seeks: 0 });
      assert.ok(Math.abs(speed - 1) < 0.1, `it plays at ${speed} times the speed of time`);
    }
    assert.deepEqual(errors, []);
    assert.deepEqual(
      failedRequests.filter((request) => !request.endsWith('/index.m3u8')),
      [],
    );
  });
});

/** The frames of each variant. */
const WIDTHS = { source: 480, middle: 398, small: 320 } as const;

/** A part is half a second long, and a player has three of them in its buffer. */
const LATE_MS = 1000;

const note = (t: TestContext, numbers: Readonly<Record<string, number>>): void => t.diagnostic(JSON.stringify(numbers));

/** What a viewer sees who selects one variant after another. */
interface Switched {
  readonly shown: readonly SeenFrame[];
  /** How often the player had nothing to play after playback began. */
  readonly waits: number;
  /** The number of ranges in the player's buffer. More than one means that there is a hole. */
  readonly ranges: number;
  readonly seeks: number;
  readonly errors: readonly string[];
  readonly failedRequests: readonly string[];
  /** The longest time in which another viewer got no new playlist of some rendition. Infinite when one was shed, and its stand-in was shown. */
  readonly longestMs: number;
}

async function switchThroughLadder(): Promise<Switched> {
  await using server = await startServerProcess({ settings: CHEAP });
  const profiles = [
    { name: 'middle', bitrate: 500_000, fps: 0, width: WIDTHS.middle, height: 224 },
    { name: 'small', bitrate: 250_000, fps: 0, width: WIDTHS.small, height: 180 },
  ];
  const { id, streamKey, playbackId } = await server.api.createStream({ profiles });
  // A browser that is starting uses all of the CPU for a moment.
  await using browser = await launchChromium();
  await using watched = await browser.newPage();
  const { page } = watched;
  const fps = { num: FPS_IN_BROWSER, den: 1 };
  const video = { width: WIDTHS.source, height: 270, fps, gop: FPS_IN_BROWSER, bitrateBps: 900_000 };
  await using publisher = await startPublisher({ url: server.rtmpUrl(streamKey), video });
  // On a busy machine the transcoder may begin late. A player that comes before plays the source only.
  await waitFor(async () => variantsOf((await indexOf(server, playbackId)) ?? '').size === 3, { what: 'the ladder' });
  await page.goto(`${server.url}/play/${playbackId}`);
  await readFrames(page);
  const first = await firstFrameSince(page, publisher.startedAtMs, 120_000);
  const since = async (mediaS: number) => (await seen(page)).frames.filter((frame) => frame.mediaS >= mediaS);
  // A player may correct its position in the stream once when it starts.
  const settled = await waitFor(async () => (await since(first.mediaS + 1.5))[0], { what: 'the video to play' });
  await page.evaluate('seen.waits = 0; document.querySelector("video").onwaiting = () => { seen.waits += 1; }');
  const before = await seen(page);
  const stopped = new AbortController();
  const other = startWatching(server.playlistUrl(playbackId), {
    signal: stopped.signal,
    variants: 3,
    momentEveryMs: 'on_request',
  });
  await waitFor(() => other.hasAll, { what: 'the other viewer' });

  let isShed = false;
  for (const choice of ['small', 'source', 'middle', 'small', 'middle'] as const) {
    await page.getByRole('combobox', { name: 'Quality' }).selectOption(choice);
    const isShown = async () => {
      isShed ||= (await healthOf(server, id)).renditions.some(({ state }) => state !== 'running');
      return isShed || (await seen(page)).frames.at(-1)!.width === WIDTHS[choice];
    };
    await waitFor(isShown, { what: `frames of ${choice}` });
  }
  await page.getByRole('combobox', { name: 'Quality' }).selectOption('Auto');
  const now = (await seen(page)).frames.at(-1)!;
  await framesFrom(page, now.counter, 3 * FPS_IN_BROWSER);
  stopped.abort();
  const longestMs = isShed
    ? Number.POSITIVE_INFINITY
    : Math.max(...[...(await other.watched).renditions.values()].map(longestWithoutReload));
  const shown = await since(settled.mediaS);
  const [waits, ranges] = await page.evaluate<[number, number]>(
    '[seen.waits, document.querySelector("video").buffered.length]',
  );
  const seeks = (await seen(page)).seeks - before.seeks;
  const { errors, failedRequests } = watched;
  return { shown, waits, ranges, seeks, errors, failedRequests, longestMs };
}

function longestWithoutReload({ reloads }: Viewing): number {
  return Math.max(...reloads.slice(1).map(({ atMs }, index) => atMs - reloads[index]!.atMs));
}

async function record({ video, profiles, renditions }: Run): Promise<Recording> {
  const media = await recordMedia({ video: { fps: { num: FPS, den: 1 }, ...video }, durationS: DURATION_S });
  const stream = await stepped.api.createStream({ profiles });
  let health: Recording['health'] | undefined;
  const watched = await publishWatched(stepped, stream, inTime(media), {
    variants: Object.keys(renditions).length + 1,
    afterStep: async (atMs) => {
      if (atMs === MEASURED_AT_MS) health = await healthOf(stepped, stream.id);
    },
  });
  return { watched, health: health! };
}

async function indexOf(server: TestServer, playbackId: string): Promise<string | undefined> {
  const { status, body } = await get(server.playlistUrl(playbackId));
  return status === 200 ? body.toString() : undefined;
}

async function healthOf(server: TestServer, id: string): Promise<Static<typeof HealthSchema>> {
  return (await server.api.getStream(id)).health!;
}

/**
 * For each segment, the tick of its first frame in presentation order, and whether it can be decoded on its own. Without the last one, which
 * has the media that was left when the session ended, and may begin at any frame.
 */
function segmentStarts(viewing: Viewing): ReadonlyMap<number, { readonly tick: number; readonly keyframe: boolean }> {
  const starts = seenSegments(viewing)
    .slice(0, -1)
    .filter(({ gap }) => !gap)
    .map(({ msn, map, uri }) => {
      const { timescale, samples } = readTrack(bytesOf(viewing, map), bytesOf(viewing, uri));
      assert.equal(timescale, VIDEO_TIMESCALE);
      return [msn, { tick: Math.min(...samples.map(({ pts }) => pts)), keyframe: samples[0]!.keyframe }] as const;
    });
  return new Map(starts);
}

function countersByTick(frames: readonly DecodedFrame[]): ReadonlyMap<number, number | undefined> {
  return new Map(frames.map(({ ptsS, code }) => [Math.round(ptsS * VIDEO_TIMESCALE), code?.counter]));
}

/** Asserts that every expected frame is there to the end, and that only those are missing that the lower frame rate leaves out. */
function assertFrameRate(name: string, frames: readonly DecodedFrame[], fps: number): void {
  const counters = frames.map(({ code }) => code!.counter);
  const step = FPS / fps;
  const steps = counters.slice(1).map((counter, index) => counter - counters[index]!);
  // A segment begins at its time, whichever frame would be next at the lower rate.
  const odd = steps.filter((each) => each !== step);
  assert.ok(
    odd.length <= (step === 1 ? 0 : DURATION_S / 2) && odd.every((each) => each < step),
    `${name}: ${steps.join()}`,
  );
  assert.ok(counters.at(-1)! >= DURATION_S * FPS - step, `${name} ends with frame ${counters.at(-1)}`);
}

/** Asserts that each beep is played when the frame that was drawn at the same second is shown. */
function assertSoundInStep({ audio }: Decoded, frames: readonly DecodedFrame[]): void {
  const flashes = frames.filter(({ code }) => code!.counter % FPS < 2);
  let compared = 0;
  for (const beepS of audio!.beepsS) {
    const nearest = flashes.find(({ ptsS }) => Math.abs(ptsS - beepS) < 0.5);
    if (nearest === undefined) continue;
    const flashS = nearest.ptsS - (nearest.code!.counter % FPS) / FPS;
    assert.ok(Math.abs(beepS - flashS) <= IN_STEP_S, `a beep at ${beepS} s, its flash at ${flashS} s`);
    compared += 1;
  }
  assert.ok(compared >= DURATION_S / 2, `${compared} beeps`);
}

/** The widths in their order, without repeats. */
function runsOfWidths(frames: readonly SeenFrame[]): readonly number[] {
  return frames.map(({ width }) => width).filter((width, index, all) => width !== all[index - 1]);
}
