/**
 * Reads in a browser which frames of the test publisher a page shows, and when.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { readFrameCode } from '../support/frame-code.ts';
import { waitFor } from '../support/wait-for.ts';

/** A frame as it was shown. */
export interface SeenFrame {
  /** Wall clock when it was shown, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The media time of the video element, in seconds. */
  readonly mediaS: number;
  /** Number of the frame since its publisher started. */
  readonly counter: number;
  /** Wall clock when the publisher drew it. */
  readonly drawnAtMs: number;
  /** Size of the frame, which differs from variant to variant. */
  readonly width: number;
}

/** The number of frames that are remembered: those of a minute and a half. */
const MOST_FRAMES = 3000;

/** Begins to read the frames of the page's only video. A page that is loaded anew forgets them all. */
export async function readFrames(page: Page): Promise<void> {
  // The script is evaluated as an expression, because the content security policy of the page does not forbid that.
  await page.evaluate(`(() => {
    const readFrameCode = ${String(readFrameCode)};
    const video = document.querySelector('video');
    const seen = { frames: [], seeks: 0, lastSeekMs: 0 };
    globalThis.seen = seen;
    video.addEventListener('seeking', () => { seen.seeks += 1; seen.lastSeekMs = Date.now(); });
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const read = (_now, { mediaTime, width }) => {
      const height = Math.ceil(width / 20);
      if (canvas.canvas.width !== width) Object.assign(canvas.canvas, { width, height });
      canvas.drawImage(video, 0, 0);
      const { data } = canvas.getImageData(0, 0, width, height);
      const code = readFrameCode({ data, width, lineStride: width * 4, pixelStride: 4 });
      if (code !== undefined) seen.frames.push({ atMs: Date.now(), mediaS: mediaTime, width, ...code });
      if (seen.frames.length > ${MOST_FRAMES}) seen.frames.shift();
      video.requestVideoFrameCallback(read);
    };
    video.requestVideoFrameCallback(read);
  })()`);
}

/** The frames that were shown so far. */
export async function seen(page: Page): Promise<{ readonly frames: readonly SeenFrame[]; readonly seeks: number }> {
  // The frames are passed as JSON, because Playwright's own serializer takes many times as long for thousands of them.
  return JSON.parse(await page.evaluate<string>('JSON.stringify(seen)'));
}

/** Waits until the page shows a frame that was drawn at or after a given moment, and returns the first one. */
export async function firstFrameSince(page: Page, drawnAtMs: number, timeoutMs: number): Promise<SeenFrame> {
  const first = () =>
    page.evaluate<SeenFrame | undefined>(`seen.frames.find((frame) => frame.drawnAtMs >= ${drawnAtMs})`);
  return await waitFor(first, { what: 'a new frame on the page', timeoutMs });
}

/**
 * Waits until, for some seconds, the player did not seek, neither left out nor repeated a frame of the stream, and showed almost every frame
 * less than a given time after it was drawn. A machine that stands still interrupts every player, so this need not be true of the first seconds.
 */
export async function untilSmooth(
  page: Page,
  {
    fromS,
    forS,
    framesPerSecond,
    mostBehindMs = Number.POSITIVE_INFINITY,
    judged = (frames) => frames,
  }: {
    /** Frames from this media time on. */
    readonly fromS: number;
    readonly forS: number;
    readonly framesPerSecond: number;
    readonly mostBehindMs?: number;
    /** Selects the frames that are judged; all by default. */
    readonly judged?: (frames: readonly SeenFrame[]) => readonly SeenFrame[];
  },
): Promise<void> {
  let fault: unknown;
  const isSmooth = async () => {
    const newest: { readonly frames: readonly SeenFrame[]; readonly lastSeekMs: number } = JSON.parse(
      await page.evaluate<string>(`(({ frames, lastSeekMs }) => {
        const sinceS = Math.max(${fromS}, (frames.at(-1)?.mediaS ?? 0) - ${forS});
        return JSON.stringify({ frames: frames.filter(({ mediaS }) => mediaS >= sinceS), lastSeekMs });
      })(seen)`),
    );
    const frames = newest.frames.filter(({ atMs }) => atMs > newest.lastSeekMs);
    const shownS = frames.length === 0 ? 0 : frames.at(-1)!.mediaS - frames[0]!.mediaS;
    // The first frame that is left may begin a little later.
    if (shownS < forS - 2 / framesPerSecond) return false;
    try {
      assertContinuous(judged(frames), framesPerSecond);
      const behind = frames.map(({ atMs, drawnAtMs }) => atMs - drawnAtMs).sort((a, b) => a - b);
      const p95 = behind[Math.floor(behind.length * 0.95)]!;
      assert.ok(p95 < mostBehindMs, `${p95} ms behind`);
      return true;
    } catch (error) {
      fault = error;
      return false;
    }
  };
  await waitFor(isSmooth, { what: `${forS} s of smooth video`, timeoutMs: 120_000 }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${String(fault)}`);
  });
}

/** Waits until a number of frames were shown, from a given frame on, and returns them. A busy browser does not draw all frames. */
export async function framesFrom(page: Page, counter: number, count: number): Promise<readonly SeenFrame[]> {
  const isFrom = `(frame) => frame.counter >= ${counter}`;
  const areThere = () => page.evaluate<boolean>(`seen.frames.filter(${isFrom}).length >= ${count}`);
  await waitFor(areThere, { what: `${count} frames on the page` });
  return (await seen(page)).frames.filter((frame) => frame.counter >= counter);
}

/** Removes keyframes that were repeated, because a transcoder with too little CPU left frames out. */
export function withoutRepeatedFrames(frames: readonly SeenFrame[]): readonly SeenFrame[] {
  let newest = -1;
  return frames.filter(({ counter }) => {
    const isNew = counter > newest;
    newest = Math.max(newest, counter);
    return isNew;
  });
}

/** The number of consecutive frames that a busy browser cannot explain. */
const LASTING = 5;

/**
 * Asserts that no frame of the stream is left out or repeated: from the first to the last frame, the number fits the media time.
 *
 * A busy browser does not draw all frames, and may give a canvas a later frame than the one that it has just announced, sometimes several
 * times in a row. Neither has a lasting effect, while a frame that is missing in the stream shifts all later ones. Tests that decode the
 * stream check every single frame.
 */
export function assertContinuous(frames: readonly SeenFrame[], framesPerSecond: number): void {
  const offsets = frames.map(({ counter, mediaS }) => counter - mediaS * framesPerSecond);
  const third = Math.floor(frames.length / 3);
  assert.ok(third > 0, `${frames.length} frames say nothing`);
  const shift = Math.abs(median(offsets.slice(0, third)) - median(offsets.slice(-third)));
  assert.ok(shift < 0.5, `frames and media time part by ${shift} frames`);
  const usual = median(offsets);
  const isUsual = (offset: number) => Math.abs(offset - usual) <= 2.5;
  let row = 0;
  for (const offset of offsets) {
    row = isUsual(offset) ? 0 : row + 1;
    assert.ok(row < LASTING, `${row} frames in a row, of ${frames.length}, at other times than their own`);
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
