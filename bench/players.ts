/**
 * How well do stock players play a live stream: when do they show it, how late are they, do they play on after a publisher was away, and do
 * they see the end? Do they also play its recording, while it runs and afterwards, and a clip of it? All players play one playlist at the
 * same time, with their own settings. mpv and VLC must be installed, too.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlayers, type Players } from '../test/support/players/all-players.ts';
import type { PlayerReport, ShownFrame } from '../test/support/players/player.ts';
import { type Publisher, startPublisher } from '../test/support/publisher.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { playlistUrls } from './support/ladder.ts';
import { answerOf, type CaseAnswer, type Finding, firstNewFrame } from './support/player-findings.ts';
import { PLAYED_FPS as FPS, open, play, type Seen, TIMEOUT_MS, PLAYED_VIDEO as VIDEO } from './support/playing.ts';
import type { Answer, BenchOptions } from './support/question.ts';
import { percentile } from './support/statistics.ts';

/** How long a player plays before its latency is read. */
const SETTLED_MS = 10_000;
/** The largest latency of a player, in seconds, with a keyframe every 2 s. */
const MAX_LATENCY_S = 7;
/** The time from the return of a publisher until a player shows its new frames, in seconds. */
const MAX_RETURN_S = 5;
/**
 * The time from the end of a session, whose publisher came back with another frame size, until a player ends or shows the next session, in
 * seconds.
 */
const MAX_END_S = 3;
/** How often the server is asked whether a session has ended. */
const LOOK_EVERY_MS = 50;
/** The length of each of the {@link STOPS} sessions that are stopped. */
const SHORT_MS = 8000;
const STOPS = 20;
/** The fault of a player that plays on, or stands still, when the stream has ended. */
const NO_END = 'does not see the end';

/** The length of the recording when it is played. */
const RECORDED_MS = 12_000;
/** The length of the clip. */
const CLIP_MS = 5000;
/**
 * How far the first and the last shown frame may be from the start and the end of a recording or clip. A playlist of a clip begins and ends
 * with whole segments, so players show up to a segment more.
 */
const MAX_CUT_MS = 2500;

type AnswerCase = (server: TestServer, players: Players, options: BenchOptions) => Promise<CaseAnswer>;

const opened =
  (afterMs: number): AnswerCase =>
  (server, players) =>
    openedAfter(server, players, afterMs);

const CASES = {
  'opened 0 s after publishing began, then a clean stop': opened(0),
  'opened 0.8 s after publishing began, then a clean stop': opened(800),
  'opened 1.6 s after publishing began, then a clean stop': opened(1600),
  'opened 2.4 s after publishing began, then a clean stop': opened(2400),
  'opened 8 s after publishing began, then a clean stop': opened(8000),
  'opened 120 s after publishing began, then a clean stop': opened(120_000),
  'publisher away for 5 s': (server, players) => away(server, players, 5),
  'publisher away for 25 s': (server, players) => away(server, players, 25),
  'publisher returns after 3 s with another size: until a player, which first plays what it has, ends or shows the next session':
    otherSize,
  'clean stops of sessions of 8 s': cleanStops,
  'the recording while it runs, then a clean stop': runningRecording,
  'the recording after its end': (server, players) => endedRecording(server, players, 'recording'),
  'a clip of 5 s': (server, players) => endedRecording(server, players, 'clip'),
} satisfies Record<string, AnswerCase>;

/** The name of a case. */
export type PlayersCase = keyof typeof CASES;

/** The question of a case, as its row has it. */
export const playersQuestion = (name: PlayersCase): string => `stock players: ${name}`;

/** Answers the questions above for each case, or for the cases whose names contain the text `only`. */
export async function playersMatrix(options: BenchOptions): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using players = await openPlayers({ areAll: true });
  const answers: Answer[] = [];
  for (const [name, answerCase] of Object.entries(CASES) as [PlayersCase, AnswerCase][]) {
    if (!name.includes(options.only ?? '')) continue;
    answers.push({ ...(await answerCase(server, players, options)), question: playersQuestion(name) });
  }
  return answers;
}

async function openedAfter(server: TestServer, players: Players, afterMs: number): Promise<CaseAnswer> {
  await using run = await play(server, players, { afterMs });
  // Players begin further back in a stream that already has several segments, and some show nothing at first.
  await sleep(SETTLED_MS + Math.min(afterMs, TIMEOUT_MS - SETTLED_MS));
  await run.publisher.stop();
  const seen = await run.until(({ ended }) => ended);
  const findings = seen.map((each) => {
    const { openedAtMs, report } = each;
    const end = report.ended ? 'sees the end' : NO_END;
    const faults = report.ended ? [] : [end];
    const [first] = report.frames;
    if (first === undefined)
      return found(each, { did: `shows no frame, ${end}`, faults: ['shows no frame', ...faults] });
    const late = lateness(report.frames) / 1000;
    const did = `${late.toFixed(1)} s late, first frame after ${seconds(first.atMs - openedAtMs)} s, ${end}`;
    return found(each, { did, seconds: late, faults });
  });
  return answerOf(findings, { against: `at most ${MAX_LATENCY_S} s late`, limitS: MAX_LATENCY_S });
}

/** The median latency of the last five seconds of frames, in milliseconds. */
const lateness = (frames: readonly ShownFrame[]) =>
  percentile(
    frames.slice(-5 * FPS).map(({ atMs, drawnAtMs }) => atMs - drawnAtMs),
    0.5,
  );

/** What a player did. Its fatal errors are added to its faults. */
function found({ name, report: { fatal } }: Seen, { did, seconds: inS, faults = [] }: Did): Finding {
  if (fatal.length === 0) return { name, did, seconds: inS, faults };
  const errors = `${fatal.length} fatal error${fatal.length === 1 ? '' : 's'}`;
  return { name, did: `${did}, ${errors}: ${fatal.slice(0, 2).join(', ')}`, seconds: inS, faults: [...faults, errors] };
}

type Did = Pick<Finding, 'did' | 'seconds'> & Partial<Pick<Finding, 'faults'>>;

async function away(server: TestServer, players: Players, awayS: number): Promise<CaseAnswer> {
  await using run = await play(server, players, { afterMs: 3000 });
  await run.until(({ frames }) => frames.length >= 5 * FPS);
  await run.publisher.kill();
  await sleep(awayS * 1000);
  await using back = await startPublisher({ url: server.rtmpUrl(run.streamKey), video: VIDEO });
  const firstOf = ({ frames }: PlayerReport) => firstNewFrame(frames, back.startedAtMs);
  const seen = await run.until((report) => firstOf(report) !== undefined);
  const findings = seen.map((each) => {
    const first = firstOf(each.report);
    if (first === undefined) return found(each, { did: 'shows nothing new', faults: ['shows nothing new'] });
    const afterS = (first.atMs - back.startedAtMs) / 1000;
    return found(each, { did: `shows new frames ${afterS.toFixed(1)} s after its return`, seconds: afterS });
  });
  return answerOf(findings, { against: `new frames within ${MAX_RETURN_S} s`, limitS: MAX_RETURN_S });
}

/**
 * The session ends and another one begins, so each player must see the end of the first one or play the second one. A player that is some
 * seconds late first plays what it has, so its latency before that is among the details.
 */
async function otherSize(server: TestServer, players: Players): Promise<CaseAnswer> {
  await using run = await play(server, players, { afterMs: 3000 });
  const before = await run.until(({ frames }) => frames.length >= 5 * FPS);
  const lateBy = (name: string) => {
    const { frames } = before.find((each) => each.name === name)!.report;
    return frames.length === 0 ? 'had shown no frame' : `was ${seconds(lateness(frames))} s late`;
  };
  const playlist = (await playlistUrls(run.url, 2)).get('source')!;
  await run.publisher.kill();
  await sleep(3000);
  const end = whenEnded(playlist);
  await using back = await startPublisher({
    url: server.rtmpUrl(run.streamKey),
    video: { ...VIDEO, width: 640, height: 360 },
  });
  const endedAtMs = await end;
  const reactedAtMs = ({ frames, endedAtMs: playerEndedAtMs }: PlayerReport) =>
    firstNewFrame(frames, back.startedAtMs)?.atMs ?? playerEndedAtMs;
  const seen = await run.until((report) => reactedAtMs(report) !== undefined);
  const findings = seen.map((each) => {
    const { name, report } = each;
    const atMs = reactedAtMs(report);
    if (atMs === undefined) return found(each, { did: `stands still, ${lateBy(name)}`, faults: ['stands still'] });
    // The playlists go on while the publisher is away, so a player that ends meanwhile has given up.
    if (atMs < back.startedAtMs) return found(each, { did: 'ends too early', faults: ['ends too early'] });
    const what = report.ended ? 'ends' : 'shows the next session';
    const afterS = (atMs - endedAtMs) / 1000;
    return found(each, { did: `${what} after ${afterS.toFixed(1)} s, ${lateBy(name)}`, seconds: afterS });
  });
  return answerOf(findings, { against: `within ${MAX_END_S} s of the end of the playlist`, limitS: MAX_END_S });
}

/**
 * Waits until a media playlist of a session lists the end, or is gone because the next session is shown.
 * @returns the wall clock, in milliseconds since the Unix epoch
 */
async function whenEnded(playlist: URL): Promise<number> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (performance.now() < deadline) {
    const response = await fetch(playlist);
    if (response.status === 404 || (await response.text()).includes('#EXT-X-ENDLIST')) return Date.now();
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('the session did not end although its publisher came back with another size');
}

/** Every player must see every end, and no program may exit with an error. */
async function cleanStops(
  server: TestServer,
  players: Players,
  { cycles: stops = STOPS }: BenchOptions,
): Promise<CaseAnswer> {
  const ends: Seen[] = [];
  for (let stop = 0; stop < stops; stop += 1) {
    await using run = await play(server, players, { afterMs: 0 });
    await sleep(run.publisher.startedAtMs + SHORT_MS - Date.now());
    await run.publisher.stop();
    ends.push(...(await run.until(({ ended }) => ended)));
  }
  const isGood = ({ report }: Seen) => report.ended && report.frames.length > 0 && report.fatal.length === 0;
  const findings = players.all.map(({ name }): Finding => {
    const good = ends.filter((each) => each.name === name && isGood(each)).length;
    const did = `${good} of ${stops}`;
    return { name, did, faults: good === stops ? [] : [did] };
  });
  return answerOf(findings, { against: `sees ${stops} of ${stops} ends` });
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
  const findings = seen.map((each) => {
    const { name, report } = each;
    const begins = `begins ${seconds(beginsAtMs(name))} s after the start`;
    if (!report.ended) return found(each, { did: `${begins}, ${NO_END}`, faults: [NO_END] });
    const end = `ends ${seconds(endsEarlyByMs(report))} s before the end`;
    return found(each, { did: `${begins}, ${end}`, faults: endsEarlyByMs(report) <= MAX_CUT_MS ? [] : [end] });
  });
  return answerOf(findings, { against: 'all of them' });
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
  const findings = seen.map((each) => {
    const { report } = each;
    const { beginsMs, endsMs } = edges(report);
    const shows = `shows ${seconds(beginsMs)} s from its start to ${seconds(endsMs)} s from its end`;
    const faults = [...(isWhole(report) ? [] : [shows]), ...(report.ended ? [] : [NO_END])];
    return found(each, { did: `${shows}, ${report.ended ? 'ends' : NO_END}`, faults });
  });
  return answerOf(findings, { against: 'all of them' });
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

const seconds = (ms: number) => (ms / 1000).toFixed(1);
