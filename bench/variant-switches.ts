/**
 * hls.js is made to change the variant every few seconds: does the video play on, with every frame at its time and in step with the audio?
 */
import { serveBarePlayer } from '../test/e2e/bare-player.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { decode } from '../test/support/decode.ts';
import { readFrameCode } from '../test/support/frame-code.ts';
import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { startPublisher } from '../test/support/publisher.ts';
import { startServerProcess } from '../test/support/server.ts';
import { BEEP_S } from '../test/support/test-pattern.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { LADDER, liveSource, playlistUrls, RENDITIONS } from './support/ladder.ts';
import { type Answer, show } from './support/question.ts';
import { median, percentile } from './support/statistics.ts';

const SECONDS = 120;
const EVERY_S = 5;
/** How long it is watched without any change, for comparison. */
const BEFORE_S = 15;
/** How long a player may take to settle at its position. */
const SETTLE_S = 8;
const LIMIT_MS = 40;
const FPS = LADDER.source.fps;

/** What the page recorded. */
interface Seen {
  /** Every frame that was shown: its number, its media time in seconds, and when it was visible. */
  readonly frames: readonly {
    readonly counter: number;
    readonly mediaS: number;
    readonly atMs: number;
    readonly width: number;
  }[];
  /** When beeps were audible. */
  readonly beepsAtMs: readonly number[];
  /** When the variant was first changed. */
  readonly switchedAtMs: number;
  readonly waits: number;
  readonly seeks: number;
  /** The longest hole the buffer ever had, in seconds. */
  readonly holeS: number;
  readonly fatal: readonly string[];
  readonly switches: number;
}

/** Answers the question above. */
export async function variantSwitches(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  // A browser that is starting uses all of the CPU for a moment.
  await using browser = await launchChromium();
  const { streamKey, playbackId } = await server.api.createStream({ profiles: LADDER.profiles });
  await using publisher = await startPublisher({ url: server.rtmpUrl(streamKey), video: liveSource(LADDER) });
  const urls = await playlistUrls(server.playlistUrl(playbackId), RENDITIONS);
  const whole = async (url: URL) => (await (await fetch(url)).text()).includes('#EXTINF');
  // hls.js 1.7 gives up on a playlist that has parts but no segment yet.
  const allWhole = async () => (await Promise.all([...urls.values()].map(whole))).every(Boolean);
  await waitFor(allWhole, { what: 'a whole segment of every rendition' });

  await using bare = await serveBarePlayer();
  await using watched = await browser.newPage();
  await watched.page.goto(bare.pageUrl(server.playlistUrl(playbackId)));
  const seen = (await watched.page.evaluate(WATCH)) as Seen;
  const ownMs = await publishedOffsetMs(urls.get('source')!, urls.get('audio')!);
  const { worstDelayMs } = await publisher.stop();
  return [judge(seen, { ownMs, worstDelayMs })];
}

/** Deviations that the publisher causes, and not the player. */
interface Published {
  /** How much later the audio is than the video. */
  readonly ownMs: number;
  /** The largest lag of the encoder. */
  readonly worstDelayMs: number;
}

function judge(
  { frames, beepsAtMs, switchedAtMs, waits, seeks, holeS, fatal, switches }: Seen,
  { ownMs, worstDelayMs }: Published,
): Answer {
  // A frame that is missing in the stream shifts all later ones. A frame that a busy browser does not draw shifts none.
  const places = frames.map(({ counter, mediaS }) => counter - mediaS * FPS);
  const shift = Math.max(...places.map((place) => Math.abs(place - median(places))));
  const steps = frames.slice(1).map(({ counter }, index) => counter - frames[index]!.counter - 1);
  const missed = Math.max(...steps);
  // The deviation of Chromium itself, without any change of the variant, is subtracted.
  const isBefore = (atMs: number) => atMs < switchedAtMs;
  const usualMs = median(audioOffsets(frames, beepsAtMs.filter(isBefore)));
  const offsetsMs = audioOffsets(
    frames,
    beepsAtMs.filter((atMs) => !isBefore(atMs)),
  ).map((atMs) => atMs - usualMs);
  const worstMs = Math.max(...offsetsMs.map(Math.abs));
  const widths = new Set(frames.map(({ width }) => width)).size;
  const frame = 1 / FPS;
  return {
    question: `a forced variant switch every ${EVERY_S} s for ${SECONDS} s in hls.js, ${LADDER.name}`,
    measured: `${waits} stalls, ${seeks} seeks, ${show(shift)} frames off, audio ${show(worstMs)} ms off`,
    details:
      `${switches} switches over ${widths} sizes, longest hole in the buffer ${show(holeS * 1000)} ms, at most ${missed} frames not shown in a row ` +
      `(p99 ${percentile(steps, 0.99)}), audio moved by p50 ${show(median(offsetsMs))} ms and p95 ` +
      `${show(percentile(offsetsMs.map(Math.abs), 0.95))} ms of ${offsetsMs.length}, before the first switch ${show(usualMs)} ms, ` +
      `in the stream ${show(ownMs)} ms, encoder late by at most ${show(worstDelayMs)} ms`,
    mustReach: `none, none, <= 1 frame, <= ${LIMIT_MS} ms`,
    reached:
      waits === 0 &&
      seeks === 0 &&
      holeS <= frame &&
      shift < 1.5 &&
      worstMs <= LIMIT_MS &&
      fatal.length === 0 &&
      widths === 4,
  };
}

/** How much later the audio is in the stream itself: an AAC encoder begins with a packet of silence. */
async function publishedOffsetMs(source: URL, audio: URL): Promise<number> {
  const [{ frames }, { audio: decoded }] = await Promise.all([
    decode(await newestMedia(source)),
    decode(await newestMedia(audio)),
  ]);
  const offsets = decoded!.beepsS.flatMap((beepS) => {
    const near = frames.find(({ ptsS, code }) => code!.counter % FPS === 0 && Math.abs(ptsS - beepS) < 0.5);
    return near === undefined ? [] : [(beepS - near.ptsS) * 1000];
  });
  return median(offsets);
}

/** The init segment and the last whole segments. */
async function newestMedia(url: URL): Promise<readonly Uint8Array[]> {
  const { segments } = readMediaPlaylist(await (await fetch(url)).text());
  const whole = segments.filter(({ uri }) => uri !== undefined).slice(-4);
  const uris = [whole[0]!.map!, ...whole.map(({ uri }) => uri!)];
  return await Promise.all(
    uris.map(async (uri) => new Uint8Array(await (await fetch(new URL(uri, url))).arrayBuffer())),
  );
}

/** How much later than its flash each beep was heard, in ms. */
function audioOffsets(frames: Seen['frames'], beepsAtMs: Seen['beepsAtMs']): readonly number[] {
  return beepsAtMs.flatMap((beepAtMs) => {
    const near = frames.filter(({ atMs }) => Math.abs(atMs - beepAtMs) < 400);
    if (near.length < FPS / 3) return [];
    // When the second began by each frame shown around it: a screen rounds to its own beat.
    const begins = near.map(({ counter, atMs }) => {
      const inSecond = counter % FPS;
      return atMs - (inSecond > FPS / 2 ? inSecond - FPS : inSecond) * (1000 / FPS);
    });
    return [beepAtMs - median(begins)];
  });
}

/** Runs in the page, so it is text: there is no DOM in this program. */
const WATCH = `(async () => {
  const read = ${String(readFrameCode)};
  const { hls } = globalThis;
  const video = document.querySelector('video');
  const settled = () => video.currentTime > 0 && video.readyState >= 3;
  while (!settled()) await new Promise((resolve) => setTimeout(resolve, 50));

  const beeps = \`registerProcessor('beeps', class extends AudioWorkletProcessor {
    #lastLoud = -1;
    process([[samples]]) {
      for (let index = 0; index < (samples?.length ?? 0); index += 1) {
        if (Math.abs(samples[index]) < 0.25) continue;
        const at = currentTime + index / sampleRate;
        if (at - this.#lastLoud > ${BEEP_S / 2}) this.port.postMessage(at);
        this.#lastLoud = at;
      }
      return true;
    }
  })\`;
  const context = new AudioContext();
  await context.audioWorklet.addModule(URL.createObjectURL(new Blob([beeps], { type: 'text/javascript' })));
  const source = context.createMediaElementSource(video);
  const listener = new AudioWorkletNode(context, 'beeps', { numberOfOutputs: 0 });
  source.connect(listener);
  source.connect(context.destination);
  video.muted = false;
  await context.resume();

  const seen = { frames: [], beepsAtMs: [], switchedAtMs: Infinity, waits: 0, seeks: 0, holeS: 0, fatal: globalThis.fatal, switches: 0 };
  await new Promise((resolve) => setTimeout(resolve, ${SETTLE_S * 1000}));
  listener.port.onmessage = ({ data }) => {
    const { contextTime, performanceTime } = context.getOutputTimestamp();
    seen.beepsAtMs.push(performanceTime + (data - contextTime) * 1000);
  };
  video.addEventListener('waiting', () => { seen.waits += 1; });
  video.addEventListener('seeking', () => { seen.seeks += 1; });

  const canvas = document.createElement('canvas');
  const drawing = canvas.getContext('2d', { willReadFrequently: true });
  const until = performance.now() + ${(BEFORE_S + SECONDS) * 1000};
  const order = [...hls.levels.keys()];
  let next;
  let switcher;
  const start = setTimeout(() => { switcher = setInterval(change, ${EVERY_S * 1000}); }, ${BEFORE_S * 1000});
  const change = () => {
    seen.switches += 1;
    if (seen.switches === 1) seen.switchedAtMs = performance.now();
    // From every variant to every other, in turn.
    next = order[(seen.switches * (1 + Math.floor(seen.switches / order.length) % (order.length - 1))) % order.length];
  };
  hls.on('hlsLevelUpdated', (_event, { details }) => {
    // Switches at the start of a segment, as the player page does (hls-engine.js has the reason).
    if (next === undefined || details.partList?.at(-1)?.index !== 0) return;
    hls.loadLevel = next;
    next = undefined;
  });
  while (performance.now() < until) {
    const { mediaTime, expectedDisplayTime, width } = await new Promise((resolve) =>
      video.requestVideoFrameCallback((now, metadata) => resolve(metadata)));
    const { buffered } = video;
    for (let index = 1; index < buffered.length; index += 1)
      seen.holeS = Math.max(seen.holeS, buffered.start(index) - buffered.end(index - 1));
    const height = Math.ceil(width / 20);
    if (canvas.width !== width) Object.assign(canvas, { width, height });
    drawing.drawImage(video, 0, 0);
    const { data } = drawing.getImageData(0, 0, width, height);
    const code = read({ data, width, lineStride: width * 4, pixelStride: 4 });
    if (code) seen.frames.push({ counter: code.counter, mediaS: mediaTime, atMs: expectedDisplayTime, width });
  }
  clearTimeout(start);
  clearInterval(switcher);
  return seen;
})()`;
