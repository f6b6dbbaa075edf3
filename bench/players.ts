/**
 * What do players as people have them make of a live stream: when do they show it, how late are they, do they survive a publisher that was
 * away, and do they see the end? All of them play one stream at the same time, with their own settings.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlayers, type Players } from '../test/support/players/all-players.ts';
import type { PlayerReport, Playing, ShownFrame } from '../test/support/players/player.ts';
import { type Publisher, startPublisher } from '../test/support/publisher.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import type { Answer } from './support/question.ts';
import { percentile } from './support/statistics.ts';

const FPS = 15;
const VIDEO = { width: 320, height: 180, fps: { num: FPS, den: 1 }, gop: 2 * FPS, bitrateBps: 400_000 };
/** From an event to what a player makes of it. */
const PATIENCE_MS = 20_000;
/** How long a player plays before its latency is read. */
const SETTLED_MS = 10_000;
/** What a player without low latency may be late. */
const MAX_LATENCY_S = 7;
const MAX_RETURN_S = 5;
/** GStreamer's demuxers begin further back whatever the playlist asks for: that is shown, but nobody here can change it. */
const OWN_LATENCY = /^hlsdemux/;

interface Seen {
  readonly name: string;
  /** Wall clock when the player was started, in milliseconds since the Unix epoch. */
  readonly openedAtMs: number;
  readonly report: PlayerReport;
}

/** Answers it for each case. */
export async function playersMatrix(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using players = await openPlayers();
  const opened: Answer[] = [];
  for (const afterMs of [0, 800, 1600, 2400, 8000]) opened.push(await openedAfter(server, players, afterMs));
  return [...opened, await away(server, players, 5), await away(server, players, 25), await otherSize(server, players)];
}

async function openedAfter(server: TestServer, players: Players, afterMs: number): Promise<Answer> {
  await using run = await play(server, players, { afterMs });
  await sleep(SETTLED_MS + afterMs);
  await run.publisher.stop();
  const seen = await run.until(({ ended }) => ended);
  const latencies = seen.map(({ name, openedAtMs, report: { frames } }) => ({
    name,
    text: `${seconds(lateness(frames))} s late, first frame after ${seconds((frames[0]?.atMs ?? Number.NaN) - openedAtMs)} s`,
    isGood: frames.length > 0 && (OWN_LATENCY.test(name) || lateness(frames) <= MAX_LATENCY_S * 1000),
  }));
  const isGood = (name: string, { fatal, ended }: PlayerReport) =>
    fatal.length === 0 && ended && latencies.some((each) => each.name === name && each.isGood);
  return answer(
    `opened ${afterMs / 1000} s after publishing began, then a clean stop`,
    seen,
    isGood,
    (name, { ended }) =>
      [latencies.find((each) => each.name === name)!.text, ended ? 'sees the end' : 'does not see the end'].join(', '),
  );
}

const lateness = (frames: readonly ShownFrame[]) =>
  percentile(
    frames.slice(-5 * FPS).map(({ atMs, drawnAtMs }) => atMs - drawnAtMs),
    0.5,
  );

async function away(server: TestServer, players: Players, awayS: number): Promise<Answer> {
  await using run = await play(server, players, { afterMs: 3000 });
  const before = await run.until(({ frames }) => frames.length >= 5 * FPS);
  await run.publisher.kill();
  await sleep(awayS * 1000);
  await using back = await startPublisher({ url: server.rtmpUrl(run.streamKey), video: VIDEO });
  const firstOf = ({ frames }: PlayerReport) => frames.find(({ drawnAtMs }) => drawnAtMs >= back.startedAtMs);
  const seen = await run.until((report) => firstOf(report) !== undefined);
  const afterMs = (report: PlayerReport) => (firstOf(report)?.atMs ?? Number.NaN) - back.startedAtMs;
  const usualMs = (name: string) => lateness(before.find((each) => each.name === name)!.report.frames);
  const isGood = (name: string, report: PlayerReport) =>
    report.fatal.length === 0 &&
    afterMs(report) <= Math.max(MAX_RETURN_S * 1000, OWN_LATENCY.test(name) ? usualMs(name) + 2000 : 0);
  return answer(`publisher away for ${awayS} s`, seen, isGood, (_, report) =>
    firstOf(report) === undefined
      ? 'shows nothing new'
      : `shows new frames ${seconds(afterMs(report))} s after its return`,
  );
}

/** The session ends and another one begins, so a viewer of the first one must be told. */
async function otherSize(server: TestServer, players: Players): Promise<Answer> {
  await using run = await play(server, players, { afterMs: 3000 });
  await run.until(({ frames }) => frames.length >= 5 * FPS);
  await run.publisher.kill();
  await sleep(3000);
  await using _back = await startPublisher({
    url: server.rtmpUrl(run.streamKey),
    video: { ...VIDEO, width: 640, height: 360 },
  });
  const returnedAtMs = Date.now();
  const goesOn = ({ ended, frames }: PlayerReport) => ended || frames.some(({ drawnAtMs }) => drawnAtMs > returnedAtMs);
  const seen = await run.until(goesOn);
  return answer(
    'publisher returns after 3 s with another size',
    seen,
    (_, report) => goesOn(report),
    (_, report) => (goesOn(report) ? 'ends or goes on' : 'stands still'),
  );
}

function answer(
  question: string,
  seen: readonly Seen[],
  isGood: (name: string, report: PlayerReport) => boolean,
  tell: (name: string, report: PlayerReport) => string,
): Answer {
  const good = seen.filter(({ name, report }) => isGood(name, report)).length;
  const errors = (report: PlayerReport) => (report.fatal.length === 0 ? '' : `, ${report.fatal.length} fatal errors`);
  return {
    question: `stock players: ${question}`,
    measured: `${good} of ${seen.length}`,
    against: 'all of them',
    ratio: good / seen.length,
    mustReach: 'all',
    reached: good === seen.length,
    details: seen.map(({ name, report }) => `${name}: ${tell(name, report)}${errors(report)}`).join('; '),
  };
}

interface Run extends AsyncDisposable {
  readonly publisher: Publisher;
  readonly streamKey: string;
  /** Waits until it is so of all players, or {@link PATIENCE_MS} have passed. */
  until(isSo: (report: PlayerReport) => boolean): Promise<readonly Seen[]>;
}

async function play(server: TestServer, players: Players, { afterMs }: { readonly afterMs: number }): Promise<Run> {
  await using stack = new AsyncDisposableStack();
  const { streamKey, playbackId } = await server.api.createStream();
  const publisher = stack.use(await startPublisher({ url: server.rtmpUrl(streamKey), video: VIDEO }));
  const url = server.playlistUrl(playbackId);
  await waitFor(async () => (await fetch(url)).ok, { what: 'the first part' });
  await sleep(afterMs);
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
    publisher,
    streamKey,
    until: async (isSo) => {
      const deadline = performance.now() + PATIENCE_MS;
      for (;;) {
        const seen = await look();
        if (seen.every(({ report }) => isSo(report)) || performance.now() > deadline) return seen;
        await sleep(100);
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const seconds = (ms: number) => (ms / 1000).toFixed(1);
