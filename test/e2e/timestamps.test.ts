/**
 * Publishers with faulty timestamps or tracks: the session continues, playlists keep every rule, and all media that can be decoded is shown.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR_MS } from '#lib/units.ts';
import type { CreatedStream } from '../support/api-client.ts';
import type { FlvFileTag } from '../support/flv-file.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP, type TestServer } from '../support/server.ts';
import { type Sending, type SteppedServer, startSteppedServer } from '../support/stepped-server.ts';
import { assertEveryFrame, assertLoaded, assertMedia, assertRules, decodeRuns, seenSegments } from './judge.ts';
import { publishWatched, type SteppedViewer, startSteppedViewer } from './stepped-watch.ts';
import type { Viewing, Watched } from './viewer.ts';

const AUDIO = 8;
const VIDEO = 9;
const SCRIPT = 18;
const FPS = 30;
const RECORDED_S = 8;

/** Eight seconds with a keyframe each second, B-frames, and audio. */
let small: readonly FlvFileTag[];
/** The same media with another frame size. */
let large: readonly FlvFileTag[];
/** One server for all sessions, of which one at a time is live. */
let server: SteppedServer;

before(async () => {
  [small, large] = await Promise.all([record(320, 180), record(426, 240)]);
  server = await startSteppedServer({ settings: CHEAP });
});
after(() => server?.[Symbol.asyncDispose]());

describe('a session goes on', () => {
  test('when timestamps wrap around 32 bits, without any effect', async () => {
    const { video, watched } = await show(sendings(small, (ms) => ms + 2 ** 32 - 3000));
    judge(watched);
    assert.equal(discontinuities(video), 0);
    const [run, ...others] = await decodeRuns(video);
    assert.equal(others.length, 0);
    assertEveryFrame(run!, 0);
    assert.equal(run!.frames.length, RECORDED_S * FPS);
  });

  for (const [what, jumpMs] of [
    ['an hour ahead', HOUR_MS],
    ['back to where they began', -4000],
  ] as const) {
    test(`when timestamps jump ${what}: after a discontinuity, without a lost frame`, async () => {
      const { video, watched } = await show(sendings(small, (ms) => (ms < 4000 ? ms : ms + jumpMs)));
      judge(watched);
      assert.equal(discontinuities(video), 1);
      const runs = await decodeRuns(video);
      assert.equal(runs.length, 2);
      assertEveryFrame(runs[0]!, 0);
      assertEveryFrame(runs[1]!, 4 * FPS);
      assert.equal(runs[1]!.frames.length, (RECORDED_S - 4) * FPS);
    });
  }

  test('when the first sequence headers are missing: it begins at the first keyframe that can be decoded', async () => {
    const tags = sendings(small).filter(({ body, type }) => !isSequenceHeader(type, body));
    const headers = small.filter(({ body, type }) => isSequenceHeader(type, body));
    const late = tags.findIndex(({ atMs, type }) => type === VIDEO && atMs >= 1500);
    const { atMs, timestamp } = tags[late]!;
    const { video, watched } = await show(
      tags.toSpliced(late, 0, ...headers.map((tag) => ({ ...tag, atMs, timestamp }))),
    );
    judge(watched);
    assert.equal(discontinuities(video), 0);
    const [run] = await decodeRuns(video);
    assertEveryFrame(run!, 2 * FPS);
  });

  test('when the announced audio comes three seconds late: the video does not wait, and the audio joins', async () => {
    const tags = sendings(small).filter(({ type, atMs }) => type !== AUDIO || atMs >= 3000);
    const headers = small.filter(({ type, body }) => type === AUDIO && isSequenceHeader(type, body));
    const join = tags.findIndex(({ type }) => type === AUDIO);
    const first = tags[join]!;
    const { video, joined } = await show(
      tags.toSpliced(join, 0, ...headers.map((tag) => ({ ...tag, atMs: first.atMs, timestamp: first.timestamp }))),
      { joinAtMs: 5000, beginsAtMs: 200 },
    );
    const [run] = await decodeRuns(video);
    assertEveryFrame(run!, 0);
    judge(joined!);
    assert.equal(joined!.renditions.size, 2);
    assert.match(joined!.multivariant[0]!.body.toString(), /CODECS="avc1[^"]*,mp4a/);
  });

  test('when the audio stops for three seconds: silence takes its place, and the video continues', async () => {
    const { video, audio, watched } = await show(
      sendings(small).filter(({ type, atMs }) => type !== AUDIO || atMs < 4500 || atMs >= 7500),
    );
    // The server waits a second and a part for audio before it writes silence, so audio may lag that far behind.
    judge(watched, { stepS: 1.35 });
    const [run, ...others] = await decodeRuns(video);
    assert.equal(others.length, 0);
    assertEveryFrame(run!, 0);
    const [heard, ...interruptions] = await decodeRuns(audio!);
    assert.deepEqual([interruptions.length, heard!.complaints], [0, []]);
    const beeps = heard!.audio!.beepsS.map((beepS) => Math.round(beepS - run!.frames[0]!.ptsS));
    assert.deepEqual(beeps, [0, 1, 2, 3, 4, 8].slice(0, beeps.length));
    assert.ok(Math.abs(heard!.audio!.endS - heard!.audio!.startS - RECORDED_S) < 0.2, 'without a hole');
  });

  test('when the video changes its size: after a discontinuity with a new init segment', async () => {
    const until = sendings(small).filter(({ atMs }) => atMs < 4000);
    const from = sendings(large).filter(({ type, atMs, body }) => atMs >= 4000 || isSequenceHeader(type, body));
    const { video, watched } = await show([...until, ...from.map((tag) => ({ ...tag, ...notBefore(tag, 4000) }))]);
    judge(watched);
    assert.equal(discontinuities(video), 1);
    assert.equal(new Set(seenSegments(video).map(({ map }) => map)).size, 2);
    const runs = await decodeRuns(video);
    assert.deepEqual(
      runs.map(({ frames }) => [...new Set(frames.map(({ width, height }) => `${width}x${height}`))]),
      [['320x180'], ['426x240']],
    );
    assertEveryFrame(runs[0]!, 0);
    assertEveryFrame(runs[1]!, 4 * FPS);
  });

  test('with only video, without an announcement', async () => {
    const { video, audio, watched } = await show(
      sendings(small).filter(({ type }) => type === VIDEO),
      { beginsAtMs: 200 },
    );
    judge(watched);
    assert.equal(audio, undefined);
    assertEveryFrame((await decodeRuns(video))[0]!, 0);
  });

  test('with only audio', async () => {
    const { audio, watched } = await show(
      sendings(small).filter(({ type }) => type === AUDIO),
      { beginsAtMs: 200 },
    );
    judge(watched);
    assert.equal(watched.renditions.size, 1);
    const [run, ...others] = await decodeRuns(audio!);
    assert.equal(others.length, 0);
    assert.deepEqual(run!.complaints, []);
    assert.ok(run!.audio!.endS - run!.audio!.startS > RECORDED_S - 0.1);
  });
});

/** How far apart the ends of renditions may be: one part, and one more because playlists are loaded one after another. */
const APART_S = 0.75;

function judge(watched: Watched, options = { stepS: APART_S }): void {
  assertLoaded(watched);
  assertRules(watched, options);
  for (const viewing of watched.renditions.values()) assertMedia(viewing);
}

interface Shown {
  readonly video: Viewing;
  readonly audio: Viewing | undefined;
  readonly watched: Watched;
  readonly joined: Watched | undefined;
}

/**
 * Publishes the given media, watches all of it, and asserts that there was one session.
 * @param options.joinAtMs when a second viewer comes
 * @param options.beginsAtMs see {@link SteppedPublish}
 */
async function show(
  tags: readonly Sending[],
  { joinAtMs, beginsAtMs }: { readonly joinAtMs?: number; readonly beginsAtMs?: number } = {},
): Promise<Shown> {
  const stream = await server.api.createStream();
  let late: SteppedViewer | undefined;
  const watched = await publishWatched(server, stream, tags, {
    ...(beginsAtMs !== undefined && { beginsAtMs }),
    afterStep: async (atMs) => {
      if (atMs === joinAtMs) late = startSteppedViewer(server, stream);
      await late?.keepsUp();
    },
  });
  assert.equal(sessions(server, stream), 1);
  const rendition = (name: string) => [...watched.renditions].find(([uri]) => uri.endsWith(`/${name}.m3u8`))?.[1];
  return { video: rendition('source')!, audio: rendition('audio'), watched, joined: await late?.watched };
}

/** @param stamp the timestamp to send instead of the recorded one */
function sendings(tags: readonly FlvFileTag[], stamp = (timestampMs: number) => timestampMs): Sending[] {
  return tags.map((tag) => ({ ...tag, atMs: tag.timestamp, timestamp: stamp(tag.timestamp) }));
}

function notBefore({ atMs, timestamp }: Sending, earliestMs: number): Pick<Sending, 'atMs' | 'timestamp'> {
  return { atMs: Math.max(atMs, earliestMs), timestamp: Math.max(timestamp, earliestMs) };
}

/** AVC and AAC sequence headers: packet type 0 in the second byte. */
function isSequenceHeader(type: number, body: Buffer): boolean {
  return type !== SCRIPT && body[1] === 0;
}

function discontinuities(viewing: Viewing): number {
  return seenSegments(viewing).filter(({ discontinuity }) => discontinuity).length;
}

function sessions({ logLines }: TestServer, { id }: CreatedStream): number {
  const lines = logLines.map((line) => JSON.parse(line) as Record<string, string>);
  return new Set(lines.flatMap(({ streamId, sessionId }) => (streamId === id && sessionId ? sessionId : []))).size;
}

/** Encodes the media of one publisher. */
async function record(width: number, height: number): Promise<readonly FlvFileTag[]> {
  const video = { width, height, bFrames: 2, tune: undefined, preset: 'veryfast', bitrateBps: 400_000 };
  return await recordMedia({ durationS: RECORDED_S, video });
}
