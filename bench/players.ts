/**
 * How well do stock players play a live stream: when do they show it, how late are they, do they play on after a publisher was away, and do
 * they see the end? Do they also play its recording, while it runs and afterwards, and a clip of it? All players play one playlist at the
 * same time, with their own settings. mpv and VLC must be installed, too.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlayers, type Players } from '../test/support/players/all-players.ts';
import type { PlayerReport, Playing, ShownFrame } from '../test/support/players/player.ts';
import { type Publisher, startPublisher } from '../test/support/publisher.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import type { Answer, BenchOptions } from './support/question.ts';
import { percentile } from './support/statistics.ts';

const FPS = 15;
const VIDEO = { width: 320, height: 180, fps: { num: FPS, den: 1 }, gop: 2 * FPS, bitrateBps: 400_000 };
/** How long each player may take to reach the state that a case waits for. */
const PATIENCE_MS = 20_000;
/** How long a player plays before its latency is read. */
const SETTLED_MS = 10_000;
/** The largest latency of a player, in seconds. A publisher's new frames are shown within this time, too. */
const MAX_LATENCY_S = 5;
/**
 * The same for players without low latency. They stay three target durations behind the newest complete segment (RFC 8216 section 6.3.3),
 * which is up to a segment old: with keyframes every 2 s, that is 6 to 8 s.
 */
const MAX_LATENCY_OF_SEGMENTS_S = 8;
const PLAYS_SEGMENTS = new Set(['hls.js, lowLatencyMode off', 'mpv', 'VLC']);
/**
 * The demuxers of GStreamer begin further back, whatever the playlist asks for, so {@link PATIENCE_MS} is the only limit of their latency.
 * The latency of `hlsdemux` also grows with the age of a stream that is older than its playlist is long. No case here opens a player that
 * late.
 */
const OWN_LATENCY = /^hlsdemux/;

/** The answer for a case, without the name of the case. */
type CaseAnswer = Omit<Answer, 'question'>;

interface Seen {
  readonly name: string;
  /** Wall clock when the player was started, in milliseconds since the Unix epoch. */
  readonly openedAtMs: number;
  readonly report: PlayerReport;
}

/** The length of the recording when it is played. */
const RECORDED_MS = 12_000;
/** The length of the clip. */
const CLIP_MS = 5000;
/**
 * How far the first and the last shown frame may be from the start and the end of a recording or clip. A playlist of a clip begins and ends
 * with whole segments, so players show up to a segment more.
 */
const MAX_CUT_MS = 2500;

/** Answers the questions above for each case, or for the cases whose names contain the text `only`. */
export async function playersMatrix({ only = '' }: BenchOptions): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using players = await openPlayers({ areAll: true });
  const cases: Readonly<Record<string, () => Promise<CaseAnswer>>> = {
    ...Object.fromEntries(
      [0, 800, 1600, 2400, 8000].map((afterMs) => [
        `opened ${afterMs / 1000} s after publishing began, then a clean stop`,
        () => openedAfter(server, players, afterMs),
      ]),
    ),
    'publisher away for 5 s': () => away(server, players, 5),
    'publisher away for 25 s': () => away(server, players, 25),
    'publisher returns after 3 s with another size': () => otherSize(server, players),
    'the recording while it runs, then a clean stop': () => runningRecording(server, players),
    'the recording after its end': () => endedRecording(server, players, 'recording'),
    'a clip of 5 s': () => endedRecording(server, players, 'clip'),
  };
  const answers: Answer[] = [];
  for (const [name, answerCase] of Object.entries(cases)) {
    if (name.includes(only)) answers.push({ ...(await answerCase()), question: `stock players: ${name}` });
  }
  return answers;
}

async function openedAfter(server: TestServer, players: Players, afterMs: number): Promise<CaseAnswer> {
  await using run = await play(server, players, { afterMs });
  await sleep(SETTLED_MS + afterMs);
  await run.publisher.stop();
  const seen = await run.until(({ ended }) => ended);
  const latencies = seen.map(({ name, openedAtMs, report: { frames } }) => ({
    name,
    text: `${seconds(lateness(frames))} s late, first frame after ${seconds((frames[0]?.atMs ?? Number.NaN) - openedAtMs)} s`,
    isGood: frames.length > 0 && lateness(frames) <= maxLatencyMs(name),
  }));
  const isGood = (name: string, { fatal, ended }: PlayerReport) =>
    fatal.length === 0 && ended && latencies.some((each) => each.name === name && each.isGood);
  return answer(seen, isGood, (name, { ended }) =>
    [latencies.find((each) => each.name === name)!.text, ended ? 'sees the end' : 'does not see the end'].join(', '),
  );
}

function maxLatencyMs(name: string): number {
  if (OWN_LATENCY.test(name)) return PATIENCE_MS;
  return (PLAYS_SEGMENTS.has(name) ? MAX_LATENCY_OF_SEGMENTS_S : MAX_LATENCY_S) * 1000;
}

/** The median latency of the last five seconds of frames, in milliseconds. */
const lateness = (frames: readonly ShownFrame[]) =>
  percentile(
    frames.slice(-5 * FPS).map(({ atMs, drawnAtMs }) => atMs - drawnAtMs),
    0.5,
  );

async function away(server: TestServer, players: Players, awayS: number): Promise<CaseAnswer> {
  await using run = await play(server, players, { afterMs: 3000 });
  await run.until(({ frames }) => frames.length >= 5 * FPS);
  await run.publisher.kill();
  await sleep(awayS * 1000);
  await using back = await startPublisher({ url: server.rtmpUrl(run.streamKey), video: VIDEO });
  const firstOf = ({ frames }: PlayerReport) => frames.find(({ drawnAtMs }) => drawnAtMs >= back.startedAtMs);
  const seen = await run.until((report) => firstOf(report) !== undefined);
  const afterMs = (report: PlayerReport) => (firstOf(report)?.atMs ?? Number.NaN) - back.startedAtMs;
  const isGood = (name: string, report: PlayerReport) =>
    report.fatal.length === 0 && afterMs(report) <= maxLatencyMs(name);
  return answer(seen, isGood, (_, report) =>
    firstOf(report) === undefined
      ? 'shows nothing new'
      : `shows new frames ${seconds(afterMs(report))} s after its return`,
  );
}

/** The session ends and another one begins, so each player must see the end of the first one or play the second one. */
async function otherSize(server: TestServer, players: Players): Promise<CaseAnswer> {
  await using run = await play(server, players, { afterMs: 3000 });
  await run.until(({ frames }) => frames.length >= 5 * FPS);
  await run.publisher.kill();
  await sleep(3000);
  await using _back = await startPublisher({
    url: server.rtmpUrl(run.streamKey),
    video: { ...VIDEO, width: 640, height: 360 },
  });
  const returnedAtMs = Date.now();
  const hasReacted = ({ ended, frames }: PlayerReport) =>
    ended || frames.some(({ drawnAtMs }) => drawnAtMs > returnedAtMs);
  const seen = await run.until(hasReacted);
  return answer(
    seen,
    (_, report) => hasReacted(report),
    (_, report) => (hasReacted(report) ? 'ends or plays on' : 'stands still'),
  );
}

/** Players of a recording that still grows may begin at its start or at its end, but must play on until it ends. */
async function runningRecording(server: TestServer, players: Players): Promise<CaseAnswer> {
  await using recorded = await record(server);
  await using opened = await open(players, recorded.url);
  const early = await opened.until(({ frames }) => frames.length >= 5 * FPS);
  const stoppedAtMs = Date.now();
  await recorded.publisher.stop();
  const seen = await opened.until(({ ended }) => ended);
  const beginsAtMs = (name: string) =>
    (early.find((each) => each.name === name)!.report.frames[0]?.drawnAtMs ?? Number.NaN) -
    recorded.publisher.startedAtMs;
  const endsEarlyByMs = ({ frames }: PlayerReport) => stoppedAtMs - (frames.at(-1)?.drawnAtMs ?? 0);
  return answer(
    seen,
    (_, report) => report.fatal.length === 0 && report.ended && endsEarlyByMs(report) <= MAX_CUT_MS,
    (name, report) =>
      `begins ${seconds(beginsAtMs(name))} s after the start, ${report.ended ? `ends ${seconds(endsEarlyByMs(report))} s before the end` : 'does not see the end'}`,
  );
}

/** Players must show the whole recording, or the whole clip. */
async function endedRecording(server: TestServer, players: Players, what: 'recording' | 'clip'): Promise<CaseAnswer> {
  await using recorded = await record(server);
  const { startedAtMs } = recorded.publisher;
  const endMs = Date.now();
  await recorded.publisher.stop();
  const clip = what === 'clip' ? await recorded.clip() : undefined;
  const { url, fromMs } = clip ?? { url: recorded.url, fromMs: startedAtMs };
  const toMs = clip === undefined ? endMs : fromMs + CLIP_MS;
  await using opened = await open(players, url);
  const seen = await opened.until(({ ended }) => ended, RECORDED_MS);
  const edges = ({ frames }: PlayerReport) => ({
    beginsMs: (frames[0]?.drawnAtMs ?? Number.NaN) - fromMs,
    endsMs: (frames.at(-1)?.drawnAtMs ?? Number.NaN) - toMs,
  });
  const isWhole = (report: PlayerReport) =>
    Object.values(edges(report)).every((differenceMs) => Math.abs(differenceMs) <= MAX_CUT_MS);
  return answer(
    seen,
    (_, report) => report.fatal.length === 0 && report.ended && isWhole(report),
    (_, report) => {
      const { beginsMs, endsMs } = edges(report);
      return `shows ${seconds(beginsMs)} s from its start to ${seconds(endsMs)} s from its end, ${report.ended ? 'ends' : 'does not end'}`;
    },
  );
}

interface Recorded extends AsyncDisposable {
  readonly publisher: Publisher;
  /** The URL of the replay's multivariant playlist. */
  readonly url: string;
  /** Makes a clip of {@link CLIP_MS} that begins three seconds after the start. */
  clip(): Promise<{ readonly url: string; readonly fromMs: number }>;
}

/** Records a stream for {@link RECORDED_MS}, and leaves it running. */
async function record(server: TestServer): Promise<Recorded> {
  const { id, streamKey, playbackId } = await server.api.createStream({ record: true });
  const publisher = await startPublisher({ url: server.rtmpUrl(streamKey), video: VIDEO });
  await sleep(RECORDED_MS);
  const json = async (method: string, path: string, body?: object) =>
    (await (await server.api.request(method, path, body)).json()) as never;
  const [session]: readonly { readonly id: string; readonly recordingUrl: string }[] = await json(
    'GET',
    `/stream/${id}/sessions`,
  );
  const absolute = (url: string) => new URL(url, server.url).href;
  return {
    publisher,
    url: absolute(session!.recordingUrl),
    clip: async () => {
      const whole: { readonly startTime: number } = await json('GET', `/asset/${session!.id}`);
      const fromMs = whole.startTime + 3000;
      const times = { startTime: fromMs, endTime: fromMs + CLIP_MS };
      const { asset }: { readonly asset: { readonly playbackUrl: string } } = await json('POST', '/clip', {
        playbackId,
        ...times,
      });
      return { url: absolute(asset.playbackUrl), fromMs };
    },
    [Symbol.asyncDispose]: () => publisher[Symbol.asyncDispose](),
  };
}

function answer(
  seen: readonly Seen[],
  isGood: (name: string, report: PlayerReport) => boolean,
  describe: (name: string, report: PlayerReport) => string,
): CaseAnswer {
  const good = seen.filter(({ name, report }) => isGood(name, report)).length;
  const errors = (report: PlayerReport) => (report.fatal.length === 0 ? '' : `, ${report.fatal.length} fatal errors`);
  return {
    measured: `${good} of ${seen.length}`,
    against: 'all of them',
    ratio: good / seen.length,
    mustReach: 'all',
    reached: good === seen.length,
    details: seen.map(({ name, report }) => `${name}: ${describe(name, report)}${errors(report)}`).join('; '),
  };
}

/** All players, playing. */
interface Opened extends AsyncDisposable {
  /** Waits until a condition holds for all players, or {@link PATIENCE_MS} and the additional time have passed. */
  readonly until: (holds: (report: PlayerReport) => boolean, moreMs?: number) => Promise<readonly Seen[]>;
}

/** All players, playing a stream. */
interface Run extends Opened {
  readonly publisher: Publisher;
  readonly streamKey: string;
}

async function play(server: TestServer, players: Players, { afterMs }: { readonly afterMs: number }): Promise<Run> {
  await using stack = new AsyncDisposableStack();
  const { streamKey, playbackId } = await server.api.createStream();
  const publisher = stack.use(await startPublisher({ url: server.rtmpUrl(streamKey), video: VIDEO }));
  const url = server.playlistUrl(playbackId);
  await waitFor(async () => (await fetch(url)).ok, { what: 'the first part' });
  await sleep(afterMs);
  const { until } = stack.use(await open(players, url));
  const kept = stack.move();
  return { publisher, streamKey, until, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function open(players: Players, url: string): Promise<Opened> {
  await using stack = new AsyncDisposableStack();
  const playing: (Omit<Seen, 'report'> & { readonly player: Playing })[] = await Promise.all(
    players.all.map(async (each) => ({
      name: each.name,
      openedAtMs: Date.now(),
      player: stack.use(await each.play(url)),
    })),
  );
  const look = () =>
    Promise.all(
      playing.map(async ({ name, openedAtMs, player }) => ({ name, openedAtMs, report: await player.report() })),
    );
  const kept = stack.move();
  return {
    until: async (holds, moreMs = 0) => {
      const deadline = performance.now() + PATIENCE_MS + moreMs;
      for (;;) {
        const seen = await look();
        if (seen.every(({ report }) => holds(report)) || performance.now() > deadline) return seen;
        await sleep(100);
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const seconds = (ms: number) => (ms / 1000).toFixed(1);
