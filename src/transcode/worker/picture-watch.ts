/**
 * Notices that a video is black or frozen. It inspects some brightness values of one frame a second.
 */
import { AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P } from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { PictureState } from '#transcode/transcoder.ts';

/** The time between two frames that are inspected, in ticks. */
const EVERY = VIDEO_TIMESCALE;
/** After a pause of this length, the measurement restarts. */
const LONGEST_PAUSE = 10 * VIDEO_TIMESCALE;
/** Rows and columns of the values that are compared. */
const GRID = { rows: 36, columns: 64 } as const;
/** A frame whose brightest value is not above this is black. Black is 16, or 0 in full range. A dark scene has brighter spots. */
const BRIGHTEST_BLACK = 36;
/** Frames whose values differ less than this on average are equal. An encoder changes a still picture less, and a camera has more noise. */
const STILL = 0.25;

/** Watches the frames of one source. */
export class PictureWatch {
  #duePts = Number.NEGATIVE_INFINITY;
  #lastPts = Number.NEGATIVE_INFINITY;
  #values: Uint8Array | undefined;
  #blackSince: number | undefined;
  #frozenSince: number | undefined;

  /** For how long the video has been black or frozen. */
  get state(): PictureState {
    const since = (pts: number | undefined) => (pts === undefined ? 0 : (this.#lastPts - pts) / VIDEO_TIMESCALE);
    return { blackS: since(this.#blackSince), frozenS: since(this.#frozenSince) };
  }

  /** Inspects a frame if it is due. @param frame of any size; one that is not 8-bit 4:2:0 counts as neither black nor frozen */
  offer(frame: Frame, pts: number): void {
    if (pts < this.#duePts && pts > this.#lastPts) return;
    const isContinued = pts > this.#lastPts && pts - this.#lastPts < LONGEST_PAUSE;
    const values = valuesOf(frame);
    this.#duePts = pts + EVERY;
    const before = isContinued ? this.#values : undefined;
    const previousPts = this.#lastPts;
    this.#lastPts = pts;
    this.#values = values;
    const isBlack = values !== undefined && values.every((value) => value <= BRIGHTEST_BLACK);
    this.#blackSince = isBlack ? ((isContinued ? this.#blackSince : undefined) ?? pts) : undefined;
    const isStill = values !== undefined && before !== undefined && distance(values, before) < STILL;
    this.#frozenSince = isStill ? (this.#frozenSince ?? previousPts) : undefined;
  }
}

/** The brightness values of a frame on a grid. Undefined unless the frame is 8-bit 4:2:0. */
function valuesOf(frame: Frame): Uint8Array | undefined {
  const { width, height, format } = frame;
  const luma = frame.data?.[0];
  const pitch = frame.linesize[0];
  if (format !== AV_PIX_FMT_YUV420P && format !== AV_PIX_FMT_YUVJ420P) return undefined;
  if (luma === undefined || pitch === undefined) return undefined;
  const values = new Uint8Array(GRID.rows * GRID.columns);
  for (let row = 0; row < GRID.rows; row += 1) {
    const y = Math.floor(((row + 0.5) * height) / GRID.rows);
    for (let column = 0; column < GRID.columns; column += 1) {
      const x = Math.floor(((column + 0.5) * width) / GRID.columns);
      values[row * GRID.columns + column] = luma[y * pitch + x]!;
    }
  }
  return values;
}

function distance(one: Uint8Array, other: Uint8Array): number {
  let sum = 0;
  for (const [index, value] of one.entries()) sum += Math.abs(value - other[index]!);
  return sum / one.length;
}
