/**
 * The transcoder is killed, hangs, or is one too many, while a stream is live: who watches the source notices nothing, who
 * watches a rendition is playing again soon, and nothing is left behind.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from 'typebox';
import type { HealthSchema } from '#api/schemas/health.ts';
import type { StreamSchema } from '#api/schemas/stream.ts';
import type { CreatedStream } from '../support/api-client.ts';
import { childrenOf } from '../support/children.ts';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import { type PlaylistSegment, readMediaPlaylist } from '../support/hls-playlist.ts';
import { startPublisher } from '../support/publisher.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  assertEveryFrame,
  assertLoaded,
  assertMedia,
  assertRules,
  decodeRuns,
  renditionOf,
  seenSegments,
  variantsOf,
} from './judge.ts';
import { firstFrameSince, readFrames, seen } from './seen-frames.ts';
import { disturbancesOf, undisturbed } from './undisturbed.ts';
import { get, mediaPlaylistUris, watch } from './viewer.ts';

type Stream = Static<typeof StreamSchema>;

/** Few, so that a slow machine can encode, decode and draw them in time. */
const FPS = 15;
const SMALL = { name: 'small', bitrate: 300_000, fps: 0, width: 320, height: 180 };
/** What the issue allows a viewer of a rendition. */
const PLAYS_WITHIN_MS = 3000;
const STARTS_WITHIN_MS = 30_000;
const TIME_LIMIT_MS = 120_000;
/** Half of how long the first viewers are made to wait. */
const SLOW_START_MS = 2000;

/** What is done to the child. */
interface Fault {
  readonly what: string;
  readonly signal: NodeJS.Signals;
  /** Why the server says it had to be replaced. */
  readonly reason: string;
  /** Until it is noticed. */
  readonly noticedWithinMs: number;
}

const FAULTS: readonly Fault[] = [
  { what: 'is killed', signal: 'SIGKILL', reason: 'exited', noticedWithinMs: 5000 },
  { what: 'hangs', signal: 'SIGSTOP', reason: 'hung', noticedWithinMs: 10_000 },
];

const outcomes = new Map<Fault, Awaited<ReturnType<typeof suffer>>['recording']>();

describe('while a stream is watched', NEEDS_CHROMIUM, () => {
  // One after the other: beside a browser, a slow machine has no time for two.
  before(async () => {
    for (const fault of FAULTS) outcomes.set(fault, await undisturbed(() => suffer(fault)));
  });
  for (const fault of FAULTS) describe(`a transcoder that ${fault.what}`, () => judge(fault));
});

function judge(fault: Fault): void {
  const outcome = () => outcomes.get(fault)!;

  test('is replaced, its renditions go on, and no process is left of it', () => {
    assert.deepEqual(outcome().reasons, [fault.reason]);
    assert.deepEqual(outcome().children, [{ pid: outcome().replacement, state: outcome().children[0]?.state }]);
    assert.notEqual(outcome().children[0]?.state, 'Z');
    assert.equal(outcome().health.transcoder?.restarts, 1);
    assert.ok(outcome().health.warnings.some(({ code }) => code === 'transcode_restarted'));
    const segments = seenSegments(renditionOf(outcome().watched, 'small'));
    assert.ok(wholeSince(segments, outcome().replacedAtMs).length >= 2, 'there are whole segments behind it');
  });

  test('leaves the source and the sound as they are: every frame, no gap, no discontinuity', async () => {
    const { watched } = outcome();
    assertLoaded(watched);
    for (const name of ['source', 'audio']) {
      const viewing = renditionOf(watched, name);
      assert.ok(
        viewing.reloads.every(({ text }) => !/EXT-X-(GAP|DISCONTINUITY)$/m.test(text)),
        name,
      );
      assertMedia(viewing);
    }
    const [source, ...others] = await decodeRuns(renditionOf(watched, 'source'));
    assert.equal(others.length, 0);
    assertEveryFrame(source!, 0);
  });

  test('fills its renditions with gaps until they go on, by all the rules, at the frames of the source', async () => {
    const { watched } = outcome();
    // A rendition that waits may lie behind by what is waited for; then gaps bring it near again.
    assertRules(watched, { stepS: 1.5 });
    const at = (frames: readonly { ptsS: number; code: { counter: number } | undefined }[]) =>
      new Map(frames.map(({ ptsS, code }) => [Math.round(ptsS * 90_000), code?.counter]));
    const [source] = await decodeRuns(renditionOf(watched, 'source'));
    const counters = at(source!.frames);
    const runs = await decodeRuns(renditionOf(watched, 'small'));
    for (const { frames, complaints } of runs) {
      assert.deepEqual(complaints, []);
      for (const [tick, counter] of at(frames)) assert.equal(counter, counters.get(tick));
    }
  });

  test('keeps a viewer of its rendition waiting for no more than three seconds', () => {
    const { shown, choice, errors } = outcome();
    const pauses = shown.slice(1).map(({ atMs }, index) => atMs - shown[index]!.atMs);
    const longestMs = Math.max(...pauses);
    assert.ok(longestMs <= PLAYS_WITHIN_MS, `the picture stood for ${longestMs} ms`);
    assert.equal(choice, 'small');
    assert.equal(shown.at(-1)!.width, SMALL.width, 'it is the variant that was chosen');
    assert.deepEqual(errors, []);
  });
}

test('ten transcoders killed, one after another, interrupt no source and leave nothing behind', async () => {
  await using server = await startServerProcess();
  await using parts = new AsyncDisposableStack();
  const streams = await Promise.all(Array.from({ length: 5 }, () => server.api.createStream({ profiles: [SMALL] })));
  for (const { streamKey } of streams) {
    parts.use(await startPublisher({ url: server.rtmpUrl(streamKey), video: { width: 320, height: 180 } }));
  }
  for (const stream of streams) await variants(server, stream, 2);
  const killed = new Set<number>();
  for (let count = 0; count < 10; count += 1) {
    const [victim] = await waitFor(
      () => {
        const alive = childrenOf(server.pid).filter(({ pid }) => !killed.has(pid));
        return alive.length > 0 && alive;
      },
      { what: 'a transcoder to kill' },
    );
    killed.add(victim!.pid);
    process.kill(victim!.pid, 'SIGKILL');
  }
  const replaced = () => {
    const children = childrenOf(server.pid);
    return children.length === streams.length && children.every(({ pid, state }) => state !== 'Z' && !killed.has(pid));
  };
  await waitFor(replaced, { what: 'all to be replaced and reaped' });
  for (const stream of streams) {
    await waitFor(() => isTranscoded(server, stream), {
      what: 'every rendition to go on',
      timeoutMs: STARTS_WITHIN_MS,
    });
    const playlist = await playlistOf(server, stream, 'source');
    assert.ok(!/EXT-X-(GAP|DISCONTINUITY)$/m.test(playlist), playlist);
  }
  assert.ok(replaced());
});

test('a viewer who comes while the transcoder is slow to start can choose its renditions all the same', async () => {
  await using server = await startServerProcess();
  const stream = await server.api.createStream({ profiles: [SMALL] });
  await using publisher = await startPublisher({
    url: server.rtmpUrl(stream.streamKey),
    video: { width: 320, height: 180 },
  });
  const transcoder = await waitFor(() => childrenOf(server.pid)[0]?.pid, { what: 'a transcoder' });
  process.kill(transcoder, 'SIGSTOP');
  const firstAnswer = variants(server, stream, 1);
  await sleep(publisher.startedAtMs + SLOW_START_MS - Date.now());
  process.kill(transcoder, 'SIGCONT');
  assert.deepEqual(await firstAnswer, ['source', 'small']);
});

test('beyond the limit of transcodes a session plays its source only, says so, and disturbs nobody, until another has ended', async () => {
  await using server = await startServerProcess({ settings: { MILLRACE_TRANSCODE_MAX: '1' } });
  const create = () => server.api.createStream({ profiles: [SMALL] });
  const [first, second] = [await create(), await create()];
  const publish = (stream: CreatedStream) =>
    startPublisher({ url: server.rtmpUrl(stream.streamKey), video: { width: 320, height: 180 } });
  await using transcoded = await publish(first);
  await variants(server, first, 2);
  await using _beyond = await publish(second);
  assert.deepEqual(await variants(server, second, 1), ['source']);

  const { isHealthy, issues, health } = await streamOf(server, second);
  assert.equal(isHealthy, false);
  assert.equal(issues?.length, 1);
  assert.deepEqual([health?.renditions, health?.transcoder], [[], undefined]);
  assert.deepEqual(
    health?.warnings.map(({ code }) => code),
    ['transcode_limit_reached'],
  );
  assert.equal(childrenOf(server.pid).length, 1);
  const undisturbed = await streamOf(server, first);
  assert.deepEqual([undisturbed.issues, undisturbed.health?.warnings], [[], []]);

  await transcoded[Symbol.asyncDispose]();
  await server.api.request('DELETE', `/stream/${first.id}`);
  assert.deepEqual(await variants(server, second, 2), ['source', 'small']);
  await waitFor(() => isTranscoded(server, second), {
    what: 'the rendition of the other',
    timeoutMs: STARTS_WITHIN_MS,
  });
  const relieved = await streamOf(server, second);
  assert.deepEqual([relieved.isHealthy, relieved.issues, relieved.health?.warnings], [true, [], []]);
});

/** Lets the fault happen in the middle of a stream that is watched by a recorder and by a browser. */
async function suffer({ signal, reason, noticedWithinMs }: Fault) {
  await using server = await startServerProcess();
  const stream = await server.api.createStream({ profiles: [SMALL] });
  // A browser that starts takes all a machine has for a moment.
  await using browser = await launchChromium();
  await using publisher = await startPublisher({
    url: server.rtmpUrl(stream.streamKey),
    video: { fps: { num: FPS, den: 1 }, gop: FPS },
  });
  await variants(server, stream, 2);
  const watching = watch(server.playlistUrl(stream.playbackId), { signal: AbortSignal.timeout(TIME_LIMIT_MS) });

  await using viewer = await browser.newPage();
  const { page } = viewer;
  await page.goto(`${server.url}/play/${stream.playbackId}`);
  await readFrames(page);
  await firstFrameSince(page, publisher.startedAtMs, STARTS_WITHIN_MS);
  await page.getByRole('combobox', { name: 'Quality' }).selectOption(SMALL.name);
  const frames = async () => (await seen(page)).frames;
  const isSmall = async () => (await frames()).slice(-FPS).every(({ width }) => width === SMALL.width);
  await waitFor(isSmall, { what: 'a second of the rendition', timeoutMs: STARTS_WITHIN_MS });

  // One that has just begun is waited for longer.
  const isOld = async () => (await playlistOf(server, stream, SMALL.name)).split('#EXTINF').length > 3;
  await waitFor(isOld, { what: 'a rendition older than a target duration', timeoutMs: STARTS_WITHIN_MS });

  const [child] = childrenOf(server.pid);
  const faultAtMs = Date.now();
  process.kill(child!.pid, signal);
  const lost = () => linesOf(server, 'transcoder lost its worker').length > 0;
  await waitFor(lost, { what: 'the loss to be noticed', timeoutMs: noticedWithinMs });
  const replacement = await waitFor(() => childrenOf(server.pid).find(({ pid }) => pid !== child!.pid)?.pid, {
    what: 'another child',
  });
  const replacedAtMs = Date.now();
  const goesOn = async () => {
    const { segments } = readMediaPlaylist(await playlistOf(server, stream, SMALL.name));
    return wholeSince(segments, replacedAtMs).length >= 2;
  };
  await waitFor(goesOn, { what: 'segments of the replacement', timeoutMs: STARTS_WITHIN_MS });
  const excused = { fromMs: faultAtMs, untilMs: Date.now() };
  const isBack = async () => (await frames()).at(-1)!.drawnAtMs > replacedAtMs && (await isSmall());
  await waitFor(isBack, { what: 'the rendition on the page', timeoutMs: STARTS_WITHIN_MS });

  const { health } = await streamOf(server, stream);
  const children = childrenOf(server.pid);
  const shown = (await frames()).filter(({ atMs }) => atMs >= faultAtMs - 1000);
  const choice = await page.locator('html').getAttribute('data-quality');
  const errors = [...viewer.errors];
  await publisher.stop();
  const reasons = linesOf(server, 'transcoder lost its worker').map((line) => line.reason);
  assert.deepEqual(new Set(reasons), new Set([reason]));
  const watched = await watching;
  const recording = { watched, health: health!, children, replacement, replacedAtMs, reasons, shown, choice, errors };
  return { recording, disturbances: await disturbancesOf(server, { transcoders: 1, excused }) };
}

async function isTranscoded(server: ServerProcess, stream: CreatedStream): Promise<boolean> {
  const { health } = await streamOf(server, stream);
  return health?.renditions.every(({ state }) => state === 'running') ?? false;
}

async function playlistOf(server: ServerProcess, { playbackId }: CreatedStream, name: string): Promise<string> {
  const index = server.playlistUrl(playbackId);
  const uri = mediaPlaylistUris((await get(index)).body.toString()).find((each) => each.endsWith(`/${name}.m3u8`))!;
  return (await get(new URL(uri, index).href)).body.toString();
}

/** Whole segments of media that begin after a moment; what was lost before them may be too little for a gap. */
function wholeSince(segments: readonly PlaylistSegment[], atMs: number): readonly PlaylistSegment[] {
  return segments.filter(
    ({ gap, uri, programDateTime }) => !gap && uri !== undefined && Date.parse(programDateTime!) > atMs,
  );
}

/** The names of its variants, once there are so many. */
async function variants(
  server: ServerProcess,
  { playbackId }: CreatedStream,
  count: number,
): Promise<readonly string[]> {
  return await waitFor(
    async () => {
      const { status, body } = await get(server.playlistUrl(playbackId));
      const names = status === 200 ? [...variantsOf(body.toString()).keys()] : [];
      return names.length >= count && names;
    },
    { what: `${count} variants` },
  );
}

async function streamOf(
  server: ServerProcess,
  { id }: CreatedStream,
): Promise<Stream & { health?: Static<typeof HealthSchema> }> {
  return (await server.api.getStream(id)) as unknown as Stream;
}

function linesOf(server: ServerProcess, msg: string): readonly { readonly reason?: string }[] {
  return server.logLines
    .map((line) => JSON.parse(line) as { msg: string; reason?: string })
    .filter((line) => line.msg === msg);
}
