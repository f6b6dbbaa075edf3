/**
 * Publishers that send no frames for a while, such as for a screen on which nothing moves. The last frame stays visible, the right one is
 * shown at every time, and audio continues.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ProfileObject } from '../support/api-client.ts';
import type { Decoded } from '../support/decode.ts';
import type { VideoJob } from '../support/publisher-protocol.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP } from '../support/server.ts';
import { inTime, type SteppedServer, startSteppedServer } from '../support/stepped-server.ts';
import {
  assertEveryFrame,
  assertLoaded,
  assertMedia,
  assertRules,
  decodeOnlyRun,
  decodeRuns,
  renditionOf,
  seenSegments,
} from './judge.ts';
import { publishWatched } from './stepped-watch.ts';
import type { Viewing, Watched } from './viewer.ts';

const FPS = 30;
/** The length of media that is sent at once. Audio and video stay together, because the audio shows for how long no frame has come. */
const STEP_MS = 100;
/** The largest allowed distance between audio and video. */
const IN_STEP_S = 0.04;
/** How far video may lag behind the audio: the longest target duration of these tests, which is 4 s, and a part. */
const STEP_S = 4.5;
/** Rules for a source that pauses: no part target fits it. */
const VARIABLE = { stepS: STEP_S, unsteady: ['source'] };
const PROFILES = [
  { name: 'all', bitrate: 300_000, fps: 0, width: 320, height: 180 },
  { name: 'half', bitrate: 200_000, fps: 15, width: 240, height: 136 },
];

interface Run {
  readonly pauses: VideoJob['pauses'];
  readonly durationS: number;
  readonly profiles?: readonly ProfileObject[];
  readonly hasSound?: boolean;
  readonly fps?: VideoJob['fps'];
  readonly server?: SteppedServer;
}

/** One server for most sessions, of which one at a time is live. */
let shared: SteppedServer;
before(async () => {
  shared = await startSteppedServer({ settings: CHEAP });
});
after(() => shared?.[Symbol.asyncDispose]());

async function record({
  pauses,
  durationS,
  profiles = PROFILES,
  hasSound = true,
  fps = { num: FPS, den: 1 },
  server = shared,
}: Run): Promise<Watched> {
  const media = await recordMedia({
    video: { width: 320, height: 180, fps, gop: Math.ceil((2 * fps.num) / fps.den), bitrateBps: 300_000, pauses },
    ...(hasSound ? {} : { audio: false }),
    durationS,
  });
  const stream = await server.api.createStream({ profiles });
  return await publishWatched(server, stream, inTime(media), {
    variants: profiles.length + 1,
    stepMs: STEP_MS,
    // Without audio, only the time shows that no frame comes.
    isPaced: (atMs) => !hasSound && pauses.some(({ fromS, untilS }) => fromS * 1000 <= atMs && atMs <= untilS * 1000),
  });
}

/** The number of the newest frame that had been drawn at a given time. */
function counterAt(mediaS: number, pauses: Run['pauses']): number {
  const pause = pauses.find(({ fromS, untilS }) => fromS <= mediaS && mediaS < untilS - 0.5 / FPS);
  return pause === undefined ? Math.round(mediaS * FPS) : pause.fromS * FPS - 1;
}

/** Asserts that the frame that was drawn last is shown at every time, and none for longer than one frame of the rate. */
function assertHeld({ frames, complaints }: Decoded, fps: number, { pauses, durationS }: Run): void {
  assert.deepEqual(complaints, []);
  const startS = frames[0]!.ptsS;
  for (const [index, { ptsS, code }] of frames.entries()) {
    const mediaS = ptsS - startS;
    assert.equal(code?.counter, counterAt(mediaS, pauses), `the picture at ${mediaS} s`);
    const nextS = frames[index + 1]?.ptsS ?? ptsS;
    assert.ok(nextS - ptsS < 1.6 / fps, `${nextS - ptsS} s between two pictures at ${mediaS} s`);
  }
  assert.ok(frames.at(-1)!.ptsS - startS > durationS - 2 / fps, `it ends at ${frames.at(-1)!.ptsS - startS} s`);
}

/** Asserts that there is a beep every second, from the first frame on. */
function assertSound({ audio, complaints }: Decoded, startS: number, durationS: number): void {
  assert.deepEqual(complaints, []);
  const beeps = audio!.beepsS.map((beepS) => beepS - startS);
  for (const beepS of beeps) assert.ok(Math.abs(beepS - Math.round(beepS)) <= IN_STEP_S, `a beep at ${beepS} s`);
  assert.ok(beeps.length >= durationS - 1, `${beeps.length} beeps`);
}

/** The frames that are shown, with their times. */
function shownBy(runs: readonly Decoded[]) {
  for (const { complaints } of runs) assert.deepEqual(complaints, []);
  return runs.flatMap(({ frames }) => frames.map(({ ptsS, code }) => [ptsS, code?.counter] as const));
}

/** The renditions of these names, as their playlists say and without a gap; no playlist breaks a rule. */
function wholeRenditions(
  watched: Watched,
  names: readonly string[],
  rules: Parameters<typeof assertRules>[1],
): readonly Viewing[] {
  assertLoaded(watched);
  assertRules(watched, rules);
  return names.map((name) => {
    const viewing = renditionOf(watched, name);
    assert.ok(!seenSegments(viewing).some(({ gap }) => gap), `${name} has gaps`);
    assertMedia(viewing);
    return viewing;
  });
}

describe('a source of few frames per second', () => {
  for (const fps of [
    { num: 1, den: 2 },
    { num: 1, den: 1 },
    { num: 2, den: 1 },
    { num: 5, den: 1 },
  ]) {
    test(`at ${fps.num / fps.den}, has as many in its renditions, each in its time, without a gap`, async () => {
      const durationS = 8;
      const watched = await record({ durationS, pauses: [], fps });
      // A frame until its duration is known, one in the encoder, and the one that has not come yet.
      const stepS = Math.max(STEP_S, (3 * fps.den) / fps.num);
      const viewings = wholeRenditions(watched, ['source', 'all', 'half', 'audio'], { stepS });
      const [source, all, half, audio] = await Promise.all(viewings.map((viewing) => decodeOnlyRun(viewing)));
      assertEveryFrame(source!, 0);
      for (const rendition of [all!, half!]) assert.deepEqual(shownBy([rendition]), shownBy([source!]));
      assertSound(audio!, source!.frames[0]!.ptsS, durationS);
    });
  }
});

describe('a source that declares thirty frames per second and sends', () => {
  for (const rate of [2, 3]) {
    test(`${rate}, has as many in its renditions, each in its time, without a gap`, async () => {
      const durationS = 8;
      const between = Array.from({ length: durationS * rate }, (_, index) => ({
        fromS: index / rate + 0.5 / FPS,
        untilS: (index + 1) / rate - 0.5 / FPS,
      }));
      const watched = await record({ durationS, pauses: between });
      const viewings = wholeRenditions(watched, ['source', 'all', 'half', 'audio'], { stepS: STEP_S });
      const [source, all, half] = await Promise.all(viewings.map((viewing) => decodeRuns(viewing)));
      assert.deepEqual(
        shownBy(source!).map(([, counter]) => counter),
        between.map((_, index) => Math.round((index * FPS) / rate)),
      );
      for (const rendition of [all!, half!]) {
        assert.deepEqual(shownBy(rendition), shownBy(source!));
        assert.ok(rendition.length <= 2, 'an encoder is opened anew once');
      }
    });
  }
});

describe('a source that sends no frames for a while', () => {
  test('has renditions without a gap that repeat the last frame, however long the pause is, and audio throughout', async () => {
    const run = {
      durationS: 13,
      pauses: [
        { fromS: 2.5, untilS: 4.5 },
        { fromS: 6.5, untilS: 11.5 },
      ],
    };
    const watched = await record(run);
    const [all, half, audio] = wholeRenditions(watched, ['all', 'half', 'audio'], VARIABLE);
    const shown = await decodeOnlyRun(all!);
    assertHeld(shown, FPS, run);
    assertHeld(await decodeOnlyRun(half!), FPS / 2, run);
    assertSound(await decodeOnlyRun(audio!), shown.frames[0]!.ptsS, run.durationS);
    // The rest of the media is a segment of its own, wherever it begins, and lists no parts.
    for (const { parts } of seenSegments(all!).slice(0, -1)) assert.ok(parts[0]?.independent ?? true);
  });

  test('has repeated frames in the renditions also without audio', async () => {
    const run = { durationS: 9, pauses: [{ fromS: 2.5, untilS: 7.5 }], hasSound: false };
    const watched = await record(run);
    const [all, half] = wholeRenditions(watched, ['all', 'half'], VARIABLE);
    assertHeld(await decodeOnlyRun(all!), FPS, run);
    assertHeld(await decodeOnlyRun(half!), FPS / 2, run);
  });

  test('plays without renditions, with each of its frames shown until the next', async () => {
    // A frame can last as long as its segment may.
    const settings = { ...CHEAP, MILLRACE_SEGMENT_TARGET_DURATION_S: '4' };
    await using server = await startSteppedServer({ settings });
    const run = { durationS: 9, pauses: [{ fromS: 4.5, untilS: 7 }], profiles: [], server };
    const watched = await record(run);
    const [source, audio] = wholeRenditions(watched, ['source', 'audio'], VARIABLE);
    const { frames, complaints } = await decodeOnlyRun(source!);
    assert.deepEqual(complaints, []);
    const sent = Array.from({ length: run.durationS * FPS }, (_, frame) => frame).filter(
      (frame) => counterAt(frame / FPS, run.pauses) === frame,
    );
    assert.deepEqual(
      frames.map(({ code }) => code?.counter),
      sent,
    );
    assert.deepEqual(
      frames.map(({ ptsS }) => Math.round((ptsS - frames[0]!.ptsS) * FPS)),
      sent,
    );
    assertSound(await decodeOnlyRun(audio!), frames[0]!.ptsS, run.durationS);
  });
});
