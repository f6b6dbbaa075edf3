/**
 * Measures the frame rate that the multivariant playlist announces, from the media durations of the newest frames. The times at which frames
 * arrive do not count. The rate stays unknown while it would be a guess, as after a burst or a pause at the beginning.
 */
import { exactRate, recogniseFrameRate, resolutionS } from '#media/frame-rate.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';

/**
 * How much media is measured, in ticks. Over three seconds, 29.97 and 30 frames a second can be distinguished although publishers round
 * times to milliseconds.
 */
const WINDOW_TICKS = 3 * VIDEO_TIMESCALE;
/** The most frames that are measured. The limit bounds the memory that a burst takes. */
const MAX_FRAMES = 1000;
/** The least media, in ticks, whose average alone can confirm a declared rate. Over less, 29 and 30 frames a second look alike. */
const LEAST_TICKS = 1.5 * VIDEO_TIMESCALE;
/** How far a duration may be from the expected one, as a fraction of it, in addition to {@link ROUNDING_TICKS}. */
const TOLERANCE = { ofOne: 0.1, ofAverage: 0.015 } as const;
/** How much longer or shorter the duration of one or more frames becomes when times are rounded to milliseconds. */
const ROUNDING_TICKS = VIDEO_TIMESCALE / 1000;
/** The smallest fraction of frames with about the median duration for which the measured rate is announced. */
const LEAST_REGULAR = 0.75;

/** Measures the frame rate of one video rendition. */
export class FrameRateMeter {
  readonly #declared: number | undefined;
  readonly #durations: number[] = [];
  #totalTicks = 0;

  /** @param declared the rate that the bitstream or the publisher declares */
  constructor(declared: number | undefined) {
    this.#declared = declared;
  }

  /** Takes the duration of the next frame, in ticks of {@link VIDEO_TIMESCALE}. */
  add(durationTicks: number): void {
    this.#durations.push(durationTicks);
    this.#totalTicks += durationTicks;
    while (this.#durations.length > MAX_FRAMES || this.#totalTicks - this.#durations[0]! >= WINDOW_TICKS) {
      this.#totalTicks -= this.#durations.shift()!;
    }
  }

  /**
   * The frame rate. It is the declared rate as soon as the frames confirm it, and otherwise the rate that is measured over
   * {@link WINDOW_TICKS}, if most frames last equally long. Undefined while neither is known.
   */
  get framesPerSecond(): number | undefined {
    const declared = this.#declared;
    if (declared !== undefined && this.#shows(VIDEO_TIMESCALE / declared)) return exactRate(declared);
    if (this.#totalTicks < WINDOW_TICKS || this.#durations.length < 2) return undefined;
    const middle = this.#durations.toSorted((a, b) => a - b)[Math.floor(this.#durations.length / 2)]!;
    const regular = this.#lasting(middle);
    return regular.length < LEAST_REGULAR * this.#durations.length ? undefined : rateOf(regular);
  }

  /** Whether most frames have about this duration, or whether it is the average of all frames and of both halves of them. */
  #shows(frameTicks: number): boolean {
    const regular = this.#lasting(frameTicks);
    if (regular.length > this.#durations.length / 2) return hasAverage(regular, frameTicks);
    if (this.#totalTicks < LEAST_TICKS) return false;
    const middle = Math.floor(this.#durations.length / 2);
    return [this.#durations, this.#durations.slice(0, middle), this.#durations.slice(middle)].every(
      (frames) => Math.abs(frames.length * frameTicks - sumOf(frames)) < frameTicks,
    );
  }

  #lasting(frameTicks: number): readonly number[] {
    const mostTicks = frameTicks * TOLERANCE.ofOne + ROUNDING_TICKS;
    return this.#durations.filter((each) => Math.abs(each - frameTicks) <= mostTicks);
  }
}

function hasAverage(durations: readonly number[], frameTicks: number): boolean {
  const expectedTicks = durations.length * frameTicks;
  return Math.abs(sumOf(durations) - expectedTicks) <= expectedTicks * TOLERANCE.ofAverage + ROUNDING_TICKS;
}

function rateOf(durations: readonly number[]): number {
  const seconds = sumOf(durations) / VIDEO_TIMESCALE;
  const unitS = resolutionS(durations, VIDEO_TIMESCALE);
  return recogniseFrameRate(durations.length, seconds, unitS, undefined).framesPerSecond;
}

const sumOf = (durations: readonly number[]): number => durations.reduce((sum, each) => sum + each, 0);
