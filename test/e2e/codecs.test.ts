/**
 * Publishes every supported codec, alone and together with others, and checks what viewers get, decoded by FFmpeg and in Chromium.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { transcodersOf } from '../support/children.ts';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import type { Decoded } from '../support/decode.ts';
import { readTrack } from '../support/iso-bmff.ts';
import { startPublisher } from '../support/publisher.ts';
import type { AudioJob, VideoJob } from '../support/publisher-protocol.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP, type ServerProcess, startServerProcess } from '../support/server.ts';
import { inTime, type SteppedServer, startSteppedServer } from '../support/stepped-server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  assertAligned,
  assertEveryFrame,
  assertLoaded,
  assertMedia,
  assertRules,
  bytesOf,
  decodeRuns,
  renditionOf,
  runsOf,
  seenSegments,
  variantsOf,
  withoutRepeats,
} from './judge.ts';
import { firstFrameSince, readFrames, untilSmooth, withoutRepeatedFrames } from './seen-frames.ts';
import { publishWatched, startSteppedViewer } from './stepped-watch.ts';
import { variantsListed, type Watched } from './viewer.ts';

/** Few frames per second, and small ones, so that a slow machine can encode and decode them in time. */
const FPS = 15;
const DURATION_S = 6;
/** When the transcoder is killed, in milliseconds since the start of the publish: between two beeps. */
const KILLED_AT_MS = 3400;
/** More than the length of an audio packet. */
const AUDIO_PACKET_MS = 25;
const SIZE = { width: 384, height: 216, bitrateBps: 400_000, fps: { num: FPS, den: 1 }, gop: FPS };
const SMALL = { name: 'small', width: 320, height: 180, fps: 0, bitrate: 400_000 };
/** The first frame of a second is up to one frame late, and FFmpeg's AAC over RTMP is one audio frame late. */
const IN_STEP_S = 0.06;
/** Renditions that Millrace encodes add only the milliseconds by which RTMP rounds timestamps. */
const ENCODED_IN_STEP_S = 0.01;

/** How far renditions may lag behind the source: two target durations, because one may have just begun on a busy machine. */
const RENDITIONS_BEHIND_S = 4;

/** A publish, and the expected result. */
interface Case {
  readonly what: string;
  readonly video: Partial<VideoJob> | false;
  readonly audio: Partial<AudioJob> | false;
  readonly profiles: readonly object[];
  /** `CODECS` of each variant, the source's first. */
  readonly codecs: readonly string[];
}

const CASES: readonly Case[] = [
  {
    what: 'HEVC with B-frames and AAC, with a rendition',
    video: { codec: 'h265', bFrames: 2, tune: undefined },
    audio: {},
    profiles: [SMALL],
    codecs: ['hvc1.1.6.L60.90,mp4a.40.2', 'avc1.64000c,mp4a.40.2'],
  },
  {
    what: 'HEVC with open groups of pictures, with a rendition',
    video: { codec: 'h265', bFrames: 2, tune: undefined, openGop: true },
    audio: {},
    profiles: [SMALL],
    codecs: ['hvc1.1.6.L60.90,mp4a.40.2', 'avc1.64000c,mp4a.40.2'],
  },
  {
    what: 'AV1 and Opus, with a rendition',
    video: { codec: 'av1' },
    audio: { codec: 'opus' },
    profiles: [SMALL],
    // AV1 need not declare its frame rate, and the level is that of the usual one.
    codecs: ['av01.0.00M.08,mp4a.40.2', 'avc1.64000d,mp4a.40.2'],
  },
  {
    what: 'H.264 and mono Opus, without renditions',
    video: {},
    audio: { codec: 'opus', channels: 1 },
    profiles: [],
    codecs: ['avc1.42c00d,mp4a.40.2'],
  },
  { what: 'AV1 alone', video: { codec: 'av1' }, audio: false, profiles: [], codecs: ['av01.0.00M.08'] },
  {
    what: 'H.264 alone, with a rendition',
    video: {},
    audio: false,
    profiles: [SMALL],
    codecs: ['avc1.42c00d', 'avc1.64000c'],
  },
  { what: 'AAC alone', video: false, audio: {}, profiles: [SMALL], codecs: ['mp4a.40.2'] },
  { what: 'Opus alone', video: false, audio: { codec: 'opus' }, profiles: [SMALL], codecs: ['mp4a.40.2'] },
];

/** One server for all sessions, of which one at a time is live. */
let stepped: SteppedServer;
before(async () => {
  stepped = await startSteppedServer();
});
after(() => stepped?.[Symbol.asyncDispose]());

describe('what viewers get of', () => {
  for (const each of CASES) test(each.what, () => holds(each));
});

test('audio made of Opus has no hole when its transcoder is killed, and is in step again when the publisher is back', {
  skip: process.platform !== 'linux' && 'finds the transcoder as Linux shows it',
}, async () => {
  const audio = { codec: 'opus' } as const;
  const media = inTime(await recordMedia({ durationS: 6, video: SIZE, audio }));
  const server = stepped;
  const stream = await server.api.createStream({ profiles: [] });
  const viewer = startSteppedViewer(server, stream);
  await using first = await server.connect(stream);
  const keepsUp = async (atMs: number) => {
    if (atMs >= 2500) await viewer.reaches('audio', server.clock.now() - 900);
    await viewer.keepsUp();
  };
  const afterStep = async (atMs: number) => {
    if (atMs === KILLED_AT_MS) {
      // The server is this process, and has one transcoder.
      const [transcoder, ...others] = transcodersOf(process.pid);
      assert.ok(transcoder !== undefined && others.length === 0);
      process.kill(transcoder.pid, 'SIGKILL');
      await waitFor(() => transcodersOf(process.pid).some(({ pid }) => pid !== transcoder.pid), {
        what: 'another one',
      });
    }
    await keepsUp(atMs);
  };
  await server.send(first, { stream, sendings: media, afterStep });
  first.drop();
  await waitFor(async () => !(await server.api.getStream(stream.id)).isActive, {
    what: 'the lost publisher to be noticed',
  });
  await server.pass(1500);
  await using second = await server.connect(stream);
  const backAtMs = server.clock.now();
  await server.send(second, { stream, sendings: media, afterStep: keepsUp });
  second.unpublish(stream.streamKey);

  const watched = await viewer.watched;
  assertLoaded(watched);
  assertRules(watched, { stepS: RENDITIONS_BEHIND_S });
  const [pictures, sounds] = await Promise.all(
    // Audio begins a segment up to a packet earlier or later than video.
    ['source', 'audio'].map((name) => decodeRuns(renditionOf(watched, name), backAtMs - AUDIO_PACKET_MS)),
  );
  assert.deepEqual([pictures!.length, sounds!.length], [2, 2]);
  for (const [index, picture] of pictures!.entries()) {
    assertEveryFrame(withoutRepeats(picture), 0);
    const sound = sounds![index]!;
    assert.deepEqual(sound.complaints, []);
    // The beep at the moment of the kill may be lost.
    assertInStep(sound, audio, picture, { least: index === 0 ? 3 : 4 });
  }
  assertMedia(renditionOf(watched, 'audio'));
});

describe('in Chromium', { ...NEEDS_CHROMIUM, concurrency: 2 }, () => {
  const parts = new AsyncDisposableStack();
  let browser: TestBrowser;
  let server: ServerProcess;
  before(async () => {
    browser = parts.use(await launchChromium());
    server = parts.use(await startServerProcess({ settings: CHEAP }));
  });
  after(() => parts.disposeAsync());

  for (const [what, codec, profiles, level] of [
    ['an AV1 source plays as it is', 'av1', [], 'source'],
    ['of an HEVC source, which it cannot decode, the H.264 rendition plays', 'h265', [SMALL], 'small'],
  ] as const) {
    test(what, async () => {
      const stream = await server.api.createStream({ profiles });
      const video = { ...SIZE, codec };
      await using publisher = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video });
      await variantsListed(server.playlistUrl(stream.playbackId), profiles.length + 1);
      await using watched = await browser.newPage();
      const { page, errors } = watched;
      await page.goto(`${server.url}/play/${stream.playbackId}`);
      await readFrames(page);
      const first = await firstFrameSince(page, publisher.startedAtMs, 30_000);
      await untilSmooth(page, {
        fromS: first.mediaS,
        forS: 4,
        framesPerSecond: FPS,
        ...(level !== 'source' && { judged: withoutRepeatedFrames }),
      });
      assert.equal(await page.evaluate('document.documentElement.dataset.level'), level);
      const decoded: { audio: number } = await page.evaluate(
        `({ audio: document.querySelector('video').webkitAudioDecodedByteCount })`,
      );
      assert.ok(decoded.audio > 0, 'sound is decoded');
      assert.deepEqual(errors, []);
    });
  }
});

async function holds(each: Case): Promise<void> {
  const watched = await record(each);
  assertLoaded(watched);
  assertRules(watched, { stepS: RENDITIONS_BEHIND_S });
  for (const viewing of watched.renditions.values()) assertMedia(viewing);
  if (watched.renditions.size > 1) assertAligned(watched);

  const variants = variantsOf(watched.multivariant.at(-1)!.body.toString());
  assert.deepEqual(
    [...variants.values()].map((variant) => variant.get('CODECS')),
    each.codecs,
  );
  assertInits(each, watched);
  const names = each.video === false ? [] : ['source', ...each.profiles.map(() => SMALL.name)];
  const sound = each.audio === false ? undefined : await decodeOnly(watched, 'audio');
  for (const name of names) {
    const picture = await decodeOnly(watched, name);
    assertEveryFrame(picture, 0);
    // A keyframe comes every second. The last segment has what was left at the end, and lists no parts.
    const segments = seenSegments(renditionOf(watched, name)).slice(0, -1);
    assert.ok(segments.every(({ parts }) => parts[0]?.independent ?? true));
    const [width, height] = name === 'source' ? [SIZE.width, SIZE.height] : [SMALL.width, SMALL.height];
    assert.ok(picture.frames.every((frame) => frame.width === width && frame.height === height));
    assert.equal(picture.frames.length, DURATION_S * FPS);
    if (sound !== undefined) assertInStep(sound, each.audio, picture);
  }
  if (sound === undefined) return;
  assert.deepEqual(sound.complaints, []);
  assert.equal(sound.audio!.sampleRate, 48_000);
  assert.equal(sound.audio!.channels, (each.audio || undefined)?.channels ?? 2);
  const { startS, endS, beepsS } = sound.audio!;
  assert.ok(endS - startS > DURATION_S - 0.1, `${endS - startS} s of audio`);
  assert.ok(beepsS.length >= DURATION_S - 1, `${beepsS.length} beeps`);
  const whole = wholeBeeps(sound);
  for (const [index, beepS] of whole.entries()) assert.ok(Math.abs(beepS - whole[0]! - index) < 0.002, beepsS.join());
}

/** Audio from before the first frame is left out, and with it the beginning of the first beep. */
function wholeBeeps({ audio }: Decoded): readonly number[] {
  return audio!.beepsS.slice(1);
}

/** A beep accompanies each frame that flashes, which are those of whole seconds. */
function assertInStep(
  sound: Decoded,
  audio: Case['audio'],
  { frames }: Decoded,
  { least = DURATION_S - 2 } = {},
): void {
  const endS = frames.at(-1)!.ptsS;
  const offsets = wholeBeeps(sound).flatMap((beepS) => {
    const flash = frames.findLast(({ ptsS, code }) => code!.counter % FPS === 0 && ptsS < beepS + 0.5);
    return flash === undefined || beepS > endS ? [] : beepS - flash.ptsS;
  });
  assert.ok(
    offsets.length >= least,
    `beeps at ${sound.audio!.beepsS.join()}, frames from ${frames[0]!.ptsS} to ${endS}`,
  );
  const most = audio !== false && audio.codec === 'opus' ? ENCODED_IN_STEP_S : IN_STEP_S;
  for (const offset of offsets) assert.ok(Math.abs(offset) < most, `audio and video are ${offset} s apart`);
}

/** Asserts that the init segments agree with the first variant. */
function assertInits({ codecs }: Case, watched: Watched): void {
  const names = [...watched.renditions].map(([, viewing]) => {
    const [segment] = runsOf(viewing)[0]!;
    return readTrack(bytesOf(viewing, segment!.map)).codecString.toLowerCase();
  });
  const announced = new Set(codecs.flatMap((each) => each.toLowerCase().split(',')));
  assert.deepEqual(new Set(names), announced);
}

async function record({ video, audio, profiles, codecs }: Case): Promise<Watched> {
  const media = await recordMedia({ durationS: DURATION_S, video: video && { ...SIZE, ...video }, audio });
  const stream = await stepped.api.createStream({ profiles });
  const encodesAudio = audio !== false && audio.codec === 'opus';
  return await publishWatched(stepped, stream, inTime(media), {
    variants: codecs.length,
    encodesAudio,
    ...(video === false && { beginsAtMs: 200 }),
  });
}

async function decodeOnly(watched: Watched, name: string): Promise<Decoded> {
  const [decoded, ...others] = await decodeRuns(renditionOf(watched, name));
  assert.equal(others.length, 0, 'one run without a gap');
  return decoded!;
}
