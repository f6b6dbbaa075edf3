/**
 * Measures how often a source sends frames, to distinguish a missing frame from one that is not due yet. Uses no clock.
 */

/**
 * Bounds of the interval at which a frame is repeated, in seconds. A shorter one gains nothing. With a longer one, segments lack frames.
 */
const STEP_S = { least: 1 / 30, most: 2 } as const;
/** How much longer than usual a frame may last before the source counts as paused. */
const UNEVEN = 1.5;
/** How long a frame may last, in seconds, while only the declared rate is known: many sources declare 30 frames a second and send two. */
const PATIENCE_S = 2;

/** Finds the shortest interval at which the frames of one run come. Times are in seconds. */
export class FrameRhythm {
  readonly #declaredS: number;
  #fastestS: number | undefined;
  #lastS: number | undefined;
  #intervalS: number | undefined;

  /** @param framesPerSecond the expected frame rate */
  constructor(framesPerSecond: number) {
    this.#declaredS = 1 / framesPerSecond;
  }

  /** The interval at which a frame is repeated: that of the source's own frames, within bounds. */
  get stepS(): number {
    return Math.min(STEP_S.most, Math.max(STEP_S.least, this.#fastestS ?? this.#declaredS));
  }

  /** The longest time that a frame lasts before the source counts as paused. */
  get patienceS(): number {
    return this.#fastestS === undefined ? PATIENCE_S : UNEVEN * this.stepS;
  }

  /** Notes the time of the next frame. */
  saw(atS: number): void {
    const intervalS = atS - (this.#lastS ?? atS);
    // Two intervals in a row count, because a single short one may be jitter.
    if (this.#intervalS !== undefined) {
      const bothS = Math.max(intervalS, this.#intervalS);
      this.#fastestS = Math.min(this.#fastestS ?? bothS, bothS);
    }
    if (this.#lastS !== undefined) this.#intervalS = intervalS;
    this.#lastS = atS;
  }

  /** Notes that frames were repeated at {@link stepS}. From then on it does not grow, because the length of parts was chosen for it. */
  repeated(): void {
    this.#fastestS = this.stepS;
  }
}
