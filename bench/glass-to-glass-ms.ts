/**
 * How old is the frame that a viewer sees in Chromium on the player page, with all settings at their defaults? The encoder draws the time
 * into each frame, and the page reads it from every frame that it shows.
 */
import { launchChromium } from '../test/support/chromium.ts';
import { readFrameCode } from '../test/support/frame-code.ts';
import { startPublisher } from '../test/support/publisher.ts';
import type { VideoJob } from '../test/support/publisher-protocol.ts';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { LADDER, type Ladder, liveSource } from './support/ladder.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { percentile } from './support/statistics.ts';

const SECONDS = 60;
const LIMIT_MS = 2000;

/** A frame as it was shown. */
interface Shown {
  readonly counter: number;
  /** From drawing to showing. */
  readonly ageMs: number;
}

/** Answers the question above for the source. */
export async function glassToGlassMs(): Promise<readonly Answer[]> {
  return [await watch({ video: {}, profiles: [], choice: 'source' })];
}

/** Answers the question above for a rendition. */
export async function renditionGlassToGlassMs(): Promise<readonly Answer[]> {
  const { profiles } = LADDER;
  return [await watch({ video: liveSource(LADDER), profiles, choice: profiles[0]!.name })];
}

interface Viewing {
  readonly video: Partial<VideoJob>;
  readonly profiles: Ladder['profiles'];
  /** Name of the rendition to watch. */
  readonly choice: string;
}

async function watch({ video, profiles, choice }: Viewing): Promise<Answer> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  // A browser that is starting uses all of the CPU for a moment.
  await using browser = await launchChromium();
  const { streamKey, playbackId } = await server.api.createStream({ profiles });
  await using publisher = await startPublisher({ url: server.rtmpUrl(streamKey), video });
  await waitFor(async () => (await fetch(server.playlistUrl(playbackId))).ok, { what: 'the stream to go live' });

  await using watched = await browser.newPage();
  const { page } = watched;
  await page.goto(`${server.url}/play/${playbackId}`);
  if (profiles.length > 0) {
    await page.getByRole('combobox', { name: 'Quality' }).selectOption(choice);
    const height = profiles.find(({ name }) => name === choice)?.height;
    const isShown = () =>
      page.evaluate(`document.querySelector('video').videoHeight === ${height}`) as Promise<boolean>;
    await waitFor(isShown, { what: `frames of ${choice}`, timeoutMs: 30_000 });
  }
  const shown = (await page.evaluate(WATCH)) as readonly Shown[];
  const { worstDelayMs } = await publisher.stop();

  const ages = shown.map(({ ageMs }) => ageMs);
  const all = SECONDS * LADDER.source.fps;
  const question = `glass to glass in Chromium on the player page, ${choice}, ${SECONDS} s from the first frame, p95`;
  return {
    ...atMost(question, percentile(ages, 0.95), LIMIT_MS, 'ms'),
    details: `p50 ${show(percentile(ages, 0.5))} ms, ${all - shown.length} of ${all} frames not seen, encoder late by at most ${show(worstDelayMs)} ms`,
  };
}

/** Runs in the page, so it is text: there is no DOM in this program. Reads every frame from the first one shown on. */
const WATCH = `(async () => {
  const read = ${String(readFrameCode)};
  const video = document.querySelector('video');
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const nextFrame = () => new Promise((resolve) =>
    video.requestVideoFrameCallback((now, { expectedDisplayTime }) => resolve(expectedDisplayTime)));
  const shown = [];
  for (let until; until === undefined || performance.now() < until;) {
    const displayedAt = await nextFrame();
    until ??= performance.now() + ${SECONDS * 1000};
    const width = canvas.width = video.videoWidth;
    const height = canvas.height = Math.ceil(width / 20);
    context.drawImage(video, 0, 0, width, height, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    const code = read({ data, width, lineStride: width * 4, pixelStride: 4 });
    if (code) shown.push({ counter: code.counter, ageMs: performance.timeOrigin + displayedAt - code.drawnAtMs });
  }
  return shown;
})()`;
