/**
 * How often a source sends pictures, so that one that is missing can be told from one that is not due yet. Pure: no clock.
 */

/** In seconds. More often than `least` nobody needs a picture repeated; less often than `most`, segments would lack them. */
const STEP_S = { least: 1 / 30, most: 2 } as const;
/** How much longer than usual a picture may last. */
const UNEVEN = 1.5;
/** In seconds, while nothing but what a source declares is known: many declare 30 pictures a second and send two. */
const PATIENCE_S = 2;

/** The rhythm of one run of pictures: the fastest it had. Times in seconds. */
export class PictureRhythm {
  readonly #declaredS: number;
  #fastestS: number | undefined;
  #lastS: number | undefined;
  #intervalS: number | undefined;

  /** @param framesPerSecond to be expected */
  constructor(framesPerSecond: number) {
    this.#declaredS = 1 / framesPerSecond;
  }

  /** Time between two pictures where one is repeated: what its own pictures take, within bounds. */
  get stepS(): number {
    return Math.min(STEP_S.most, Math.max(STEP_S.least, this.#fastestS ?? this.#declaredS));
  }

  /** A picture that lasts longer is one of a source that pauses. */
  get patienceS(): number {
    return this.#fastestS === undefined ? PATIENCE_S : UNEVEN * this.stepS;
  }

  /** The next picture is of this time. */
  saw(atS: number): void {
    const intervalS = atS - (this.#lastS ?? atS);
    // Two in a row: a single short one may be jitter.
    if (this.#intervalS !== undefined) {
      const bothS = Math.max(intervalS, this.#intervalS);
      this.#fastestS = Math.min(this.#fastestS ?? bothS, bothS);
    }
    if (this.#lastS !== undefined) this.#intervalS = intervalS;
    this.#lastS = atS;
  }

  /** Pictures were repeated at {@link stepS}: parts are made for that, and it gets no slower. */
  repeated(): void {
    this.#fastestS = this.stepS;
  }
}
