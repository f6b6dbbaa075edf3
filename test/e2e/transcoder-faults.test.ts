/**
 * While a stream is live, the transcoder is killed, hangs, or is beyond the limit. Viewers of the source notice nothing, a rendition plays
 * again soon, and no process is left.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Static } from 'typebox';
import type { HealthSchema } from '#api/schemas/health.ts';
import type { StreamSchema } from '#api/schemas/stream.ts';
import type { CreatedStream } from '../support/api-client.ts';
import { transcodersOf } from '../support/children.ts';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import type { FlvFileTag } from '../support/flv-file.ts';
import type { PlaylistSegment } from '../support/hls-playlist.ts';
import { type LoopedPublisher, loopOf, publishLoop } from '../support/looped-publisher.ts';
import { startPublisher } from '../support/publisher.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP, type ServerProcess, startServerProcess, type TestServer } from '../support/server.ts';
import { inTime, STEP_MS, startSteppedServer } from '../support/stepped-server.ts';
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
  withoutRepeats,
} from './judge.ts';
import { firstFrameSince, readFrames, seen } from './seen-frames.ts';
import { publishWatched } from './stepped-watch.ts';
import { get, mediaPlaylistUris } from './viewer.ts';

type Stream = Static<typeof StreamSchema>;
type Health = Static<typeof HealthSchema>;

/** Few frames per second, so that a slow machine can encode, decode and draw them in time. */
const FPS = 15;
const SMALL = { name: 'small', bitrate: 200_000, fps: 0, width: 256, height: 144 };
const VIDEO = { width: 320, height: 180, bitrateBps: 300_000, fps: { num: FPS, den: 1 }, gop: FPS };
const STARTS_WITHIN_MS = 120_000;
/** When a transcoder starts: at the second keyframe, in milliseconds since the start of the publish. */
const STARTS_AT_MS = 1200;
/** Half of how long the first viewers are made to wait. */
const SLOW_START_MS = 2000;

/** When the transcoder fails, and until when media goes on without it, in milliseconds since the start of the publish. */
const FAULT_AT_MS = 5000;
const BACK_AT_MS = 8000;
const DURATION_S = 15;
/** How far a rendition may lag behind the source: by the media that goes on without a transcoder, and a second more. */
const AWAY_S = (BACK_AT_MS - FAULT_AT_MS) / 1000 + 1;

/** A multiple of the length of a frame, and of that of an audio frame at 48 kHz. */
const LOOP_MS = 8000;

/** What every publisher here sends, except for the one that a browser plays. */
let media: readonly FlvFileTag[];
before(async () => {
  media = await recordMedia({ durationS: DURATION_S, video: VIDEO });
});

/** Publishes it again and again, in real time. */
const publish = (server: TestServer, { streamKey }: CreatedStream): Promise<LoopedPublisher> =>
  publishLoop(server.rtmpPort, streamKey, { loop: loopOf(media, LOOP_MS) });

/** A fault of the child process. */
interface Fault {
  readonly what: string;
  readonly signal: NodeJS.Signals;
  /** The reason for the replacement in the server's log. */
  readonly reason: string;
}

const FAULTS: readonly Fault[] = [
  { what: 'is killed', signal: 'SIGKILL', reason: 'exited' },
  { what: 'hangs', signal: 'SIGSTOP', reason: 'hung' },
];

for (const fault of FAULTS) {
  describe(`a transcoder that ${fault.what} while a stream is watched`, () => {
    let outcome: Awaited<ReturnType<typeof suffer>>;
    before(async () => {
      outcome = await suffer(fault);
    });

    test('is replaced, its renditions go on, and no process is left of it', () => {
      assert.deepEqual(outcome.reasons, [fault.reason]);
      assert.deepEqual(outcome.children, [{ pid: outcome.replacement, state: outcome.children[0]?.state }]);
      assert.notEqual(outcome.children[0]?.state, 'Z');
      assert.equal(outcome.health.transcoder?.restarts, 1);
      assert.ok(outcome.health.warnings.some(({ code }) => code === 'transcode_restarted'));
      const segments = seenSegments(renditionOf(outcome.watched, 'small'));
      assert.ok(wholeSince(segments, outcome.replacedAtMs).length >= 2, 'there are whole segments after it');
    });

    test('leaves the source and the audio as they are: every frame, no discontinuity', () => {
      const { watched } = outcome;
      assertLoaded(watched);
      for (const name of ['source', 'audio']) {
        const viewing = renditionOf(watched, name);
        assert.ok(
          viewing.reloads.every(({ text }) => !/EXT-X-(GAP|DISCONTINUITY)$/m.test(text)),
          name,
        );
        assertMedia(viewing);
      }
      const [source, ...others] = outcome.source;
      assert.equal(others.length, 0);
      assertEveryFrame(source!, 0);
      assert.equal(source!.frames.length, DURATION_S * FPS);
    });

    test('has its renditions show a frame again until they go on, without a hole, by all the rules, at the frames of the source', async () => {
      const { watched } = outcome;
      assertRules(watched, { stepS: AWAY_S });
      assertMedia(renditionOf(watched, 'small'));
      const at = (frames: readonly { ptsS: number; code: { counter: number } | undefined }[]) =>
        new Map(frames.map(({ ptsS, code }) => [Math.round(ptsS * 90_000), code?.counter]));
      const [source] = outcome.source;
      const counters = at(source!.frames);
      const runs = await decodeRuns(renditionOf(watched, 'small'));
      assert.equal(runs.length, 1, 'nobody has to begin anew');
      assert.deepEqual(runs[0]!.complaints, []);
      const { frames } = withoutRepeats(runs[0]!);
      assert.ok(frames.length < runs[0]!.frames.length, 'something was lost');
      for (const [tick, counter] of at(frames)) assert.equal(counter, counters.get(tick));
    });
  });
}

describe('a transcoder that is killed in real time', () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ settings: CHEAP });
  });
  after(() => server?.[Symbol.asyncDispose]());

  test('has its rendition back on the page of a viewer who has chosen it in Chromium', NEEDS_CHROMIUM, async (t) => {
    const stream = await server.api.createStream({ profiles: [SMALL] });
    await using browser = await launchChromium();
    await using publisher = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video: VIDEO });
    await variants(server, stream, 2);
    await using viewer = await browser.newPage();
    const { page } = viewer;
    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await readFrames(page);
    await firstFrameSince(page, publisher.startedAtMs, STARTS_WITHIN_MS);
    await page.getByRole('combobox', { name: 'Quality' }).selectOption(SMALL.name);
    const frames = async () => (await seen(page)).frames;
    const isSmall = async () => (await frames()).slice(-FPS).every(({ width }) => width === SMALL.width);
    await waitFor(isSmall, { what: 'a second of the rendition', timeoutMs: STARTS_WITHIN_MS });

    const [child] = transcodersOf(server.pid);
    const faultAtMs = Date.now();
    process.kill(child!.pid, 'SIGKILL');
    const isReplaced = () => transcodersOf(server.pid).some(({ pid }) => pid !== child!.pid);
    await waitFor(isReplaced, { what: 'another child' });
    const replacedAtMs = Date.now();
    const isBack = async () => (await frames()).at(-1)!.drawnAtMs > replacedAtMs && (await isSmall());
    await waitFor(isBack, { what: 'the rendition on the page', timeoutMs: STARTS_WITHIN_MS });
    const shown = (await frames()).filter(({ atMs }) => atMs >= faultAtMs - 1000);
    const pausesMs = shown.slice(1).map(({ atMs }, index) => atMs - shown[index]!.atMs);
    t.diagnostic(`the longest time without a new frame was ${Math.max(...pausesMs)} ms`);
    assert.equal(await page.locator('html').getAttribute('data-quality'), 'small');
    assert.deepEqual(viewer.errors, []);
    await publisher.stop();
    await waitFor(() => transcodersOf(server.pid).length === 0, { what: 'the transcoder to end with its session' });
  });

  test('five times, one after another, interrupts no source and leaves nothing behind', async () => {
    await using parts = new AsyncDisposableStack();
    const streams = await Promise.all(Array.from({ length: 3 }, () => server.api.createStream({ profiles: [SMALL] })));
    for (const stream of streams) parts.use(await publish(server, stream));
    for (const stream of streams) await variants(server, stream, 2);
    const killed = new Set<number>();
    for (let count = 0; count < 5; count += 1) {
      const [victim] = await waitFor(
        () => {
          const alive = transcodersOf(server.pid).filter(({ pid }) => !killed.has(pid));
          return alive.length > 0 && alive;
        },
        { what: 'a transcoder to kill' },
      );
      killed.add(victim!.pid);
      process.kill(victim!.pid, 'SIGKILL');
    }
    const replaced = () => {
      const children = transcodersOf(server.pid);
      return (
        children.length === streams.length && children.every(({ pid, state }) => state !== 'Z' && !killed.has(pid))
      );
    };
    await waitFor(replaced, { what: 'all to be replaced and reaped', timeoutMs: STARTS_WITHIN_MS });
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
});

test('a viewer who comes while the transcoder is slow to start can choose its renditions all the same', async () => {
  await using server = await startSteppedServer({ settings: CHEAP });
  const stream = await server.api.createStream({ profiles: [SMALL] });
  await using client = await server.connect(stream);
  // The server is this process.
  const transcoder = () => transcodersOf(process.pid)[0]?.pid;
  let firstAnswer: Promise<readonly string[]> | undefined;
  await server.send(client, {
    stream,
    sendings: inTime(media.filter(({ timestamp }) => timestamp < 2 * SLOW_START_MS)),
    isUnaided: (atMs) => atMs < SLOW_START_MS,
    afterStep: async (atMs) => {
      if (atMs === STARTS_AT_MS) {
        process.kill(await waitFor(transcoder, { what: 'a transcoder' }), 'SIGSTOP');
        firstAnswer = variants(server, stream, 1);
      }
      if (atMs === SLOW_START_MS - STEP_MS) process.kill(transcoder()!, 'SIGCONT');
    },
  });
  client.unpublish(stream.streamKey);
  assert.deepEqual(await firstAnswer, ['source', 'small']);
});

test('beyond the limit of transcodes a session plays its source only, says so, and disturbs nobody, until another has ended', async () => {
  await using server = await startServerProcess({ settings: { ...CHEAP, MILLRACE_TRANSCODE_MAX: '1' } });
  const create = () => server.api.createStream({ profiles: [SMALL] });
  const [first, second] = [await create(), await create()];
  await using transcoded = await publish(server, first);
  await variants(server, first, 2);
  await using _beyond = await publish(server, second);
  assert.deepEqual(await variants(server, second, 1), ['source']);

  const limited = await streamOf(server, second);
  assert.equal(limited.isHealthy, false);
  assert.deepEqual([limited.health?.renditions, limited.health?.transcoder], [[], undefined]);
  // A busy machine may cause further warnings.
  const codes = ({ health }: { readonly health?: Health }) => health!.warnings.map(({ code }) => code);
  assert.ok(codes(limited).includes('transcode_limit_reached'), codes(limited).join());
  const saysSo = ({ issues }: Stream) => issues!.some((issue) => /transcod/i.test(issue));
  assert.ok(saysSo(limited), limited.issues!.join());
  assert.equal(transcodersOf(server.pid).length, 1);
  const undisturbed = await streamOf(server, first);
  assert.ok(!codes(undisturbed).includes('transcode_limit_reached') && undisturbed.health?.renditions.length === 1);

  await transcoded[Symbol.asyncDispose]();
  await server.api.request('DELETE', `/stream/${first.id}`);
  assert.deepEqual(await variants(server, second, 2), ['source', 'small']);
  await waitFor(() => isTranscoded(server, second), {
    what: 'the rendition of the other',
    timeoutMs: STARTS_WITHIN_MS,
  });
  const relieved = await streamOf(server, second);
  assert.ok(!codes(relieved).includes('transcode_limit_reached'), codes(relieved).join());
});

/** Lets the fault happen in the middle of a stream that is watched. Media goes on for some seconds before the transcoder is replaced. */
async function suffer({ signal }: Fault) {
  await using server = await startSteppedServer({ settings: CHEAP });
  const stream = await server.api.createStream({ profiles: [SMALL] });
  // The server is this process.
  const transcoders = () => transcodersOf(process.pid);
  let lost: number | undefined;
  let replacedAtMs = 0;
  let health: Health | undefined;
  let children: ReturnType<typeof transcoders> = [];
  const watched = await publishWatched(server, stream, inTime(media), {
    variants: 2,
    isUnaided: (atMs) => atMs > FAULT_AT_MS && atMs < BACK_AT_MS,
    afterStep: async (atMs) => {
      if (atMs === FAULT_AT_MS) {
        lost = transcoders()[0]!.pid;
        process.kill(lost, signal);
      }
      if (atMs === BACK_AT_MS - STEP_MS) {
        const isReplaced = () => {
          const [child, ...others] = transcoders();
          return child !== undefined && others.length === 0 && child.pid !== lost;
        };
        await waitFor(isReplaced, { what: 'another child' });
        replacedAtMs = server.clock.now();
      }
      if (atMs === (DURATION_S - 1) * 1000) {
        health = (await server.api.getStream(stream.id)).health;
        children = transcoders();
      }
    },
  });
  const reasons = linesOf(server, 'transcoder lost its worker').map(({ reason }) => reason);
  const source = await decodeRuns(renditionOf(watched, 'source'));
  return { watched, source, health: health!, children, replacement: children[0]?.pid, replacedAtMs, reasons };
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

/** Whole segments that begin after a moment. */
function wholeSince(segments: readonly PlaylistSegment[], atMs: number): readonly PlaylistSegment[] {
  return segments.filter(({ uri, programDateTime }) => uri !== undefined && Date.parse(programDateTime!) > atMs);
}

/** The names of its variants, once there are so many. */
async function variants(server: TestServer, { playbackId }: CreatedStream, count: number): Promise<readonly string[]> {
  return await waitFor(
    async () => {
      const { status, body } = await get(server.playlistUrl(playbackId));
      const names = status === 200 ? [...variantsOf(body.toString()).keys()] : [];
      return names.length >= count && names;
    },
    { what: `${count} variants` },
  );
}

async function streamOf(server: ServerProcess, { id }: CreatedStream): Promise<Stream & { health?: Health }> {
  return (await server.api.getStream(id)) as unknown as Stream;
}

function linesOf(server: TestServer, msg: string): readonly { readonly reason?: string }[] {
  return server.logLines
    .map((line) => JSON.parse(line) as { msg: string; reason?: string })
    .filter((line) => line.msg === msg);
}
