/**
 * Decides which decoded frames a rendition takes, and as what. Pure.
 *
 * Frames keep their own times, also where the rate is reduced: of a source at 50 frames a second a rendition at 30 takes three of five.
 */
import { unreachable } from '#lib/unreachable.ts';
import { recogniseFrameRate } from '#media/frame-rate.ts';
import { framesPerPart } from '#media/part-length.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { KeyframeRule, RenditionPlan } from '#transcode/rendition-plan.ts';

/**
 * What becomes of a frame in a rendition. An `anchor` is the last of its part: no B-frame, because one waits for the frame behind
 * it and would come a whole part later.
 */
export type FrameVerdict = 'skip' | 'take' | 'anchor' | 'keyframe';

/** What publishers' times are rounded to: RTMP's are whole milliseconds. */
const RESOLUTION_S = 0.001;
/** How early, in ticks, a frame may come of a source that sends no more than the limit: cameras in dim light are that uneven. */
const UNEVEN = 0.1 * VIDEO_TIMESCALE;

/** The rule for one rendition. Frames come in presentation order. */
export class FrameGate {
  /** Ticks between frames at the highest rate allowed; 0 takes them all. */
  readonly #step: number;
  /** Ticks between keyframes besides those at cuts. */
  readonly #keyframeStep: number;
  readonly #expectedRate: number;
  #framesPerSecond: number;
  /** Frames taken since the cut: parts are counted from there. */
  #sinceCut = 0;
  #cutPts = 0;
  /** Frames since the cut, those skipped as well; undefined when some are missing, or shown again. */
  #offered: number | undefined;
  /** The source was within the limit by itself from the cut before to this one. What a publisher declares does not count. */
  #isWithinLimit = false;
  #begun = false;
  #previousPts = 0;
  #lastPts = Number.NEGATIVE_INFINITY;
  #due = Number.NEGATIVE_INFINITY;
  #keyframeDue = 0;

  /** @param framesPerSecond of the rendition, to be expected; publishers declare what is not so, and it is measured from cut to cut */
  constructor({ frameRate, keyframes }: Pick<RenditionPlan, 'frameRate' | 'keyframes'>, framesPerSecond: number) {
    this.#expectedRate = framesPerSecond;
    this.#framesPerSecond = framesPerSecond;
    this.#step = frameRate === undefined ? 0 : (VIDEO_TIMESCALE * frameRate.den) / frameRate.num;
    this.#keyframeStep = keyframeStep(keyframes);
  }

  /** Frames taken, as measured from one cut to the next; until then as expected. */
  get framesPerSecond(): number {
    return this.#framesPerSecond;
  }

  /** The next frame that passes is a keyframe. */
  refresh(): void {
    this.#keyframeDue = Number.NEGATIVE_INFINITY;
  }

  /** Something was lost: nothing passes until the next cut, so that segments stay the same in every rendition. */
  interrupt(): void {
    this.#begun = false;
    this.#offered = undefined;
    this.#sinceCut = 0;
  }

  /**
   * Asked once for every frame, in order.
   * @param pts in ticks; a frame not later than the last one taken is skipped
   * @param cut whether a segment begins with this frame; such a one is always taken
   * @param repeated whether it was judged before, at another time: it says nothing of the source's rate
   */
  judge(pts: number, cut: boolean, repeated = false): FrameVerdict {
    // Half a source frame of tolerance: publishers' times are whole milliseconds.
    const tolerance = Math.max(0, pts - this.#previousPts) / 2;
    const early = this.#isWithinLimit ? Math.max(UNEVEN, tolerance) : tolerance;
    this.#previousPts = pts;
    if (repeated) this.#offered = undefined;
    else if (this.#offered !== undefined) this.#offered += 1;
    if (pts <= this.#lastPts || (!cut && !this.#begun)) return 'skip';
    if (!cut && pts + early < this.#due) return 'skip';
    // The grid of a reduced rate starts anew at every cut, and where frames are missing.
    this.#due = cut || pts > this.#due + this.#step ? pts + this.#step : this.#due + this.#step;
    this.#begun = true;
    if (cut) this.#beginSegment(pts, repeated);
    this.#lastPts = pts;
    this.#sinceCut += 1;
    if (!cut && pts + tolerance < this.#keyframeDue) {
      return this.#sinceCut % framesPerPart(this.#framesPerSecond) === 0 ? 'anchor' : 'take';
    }
    this.#keyframeDue = pts + this.#keyframeStep;
    return 'keyframe';
  }

  #beginSegment(pts: number, repeated: boolean): void {
    if (this.#sinceCut > 0) {
      const lastedS = (pts - this.#cutPts) / VIDEO_TIMESCALE;
      const measured = recogniseFrameRate(this.#sinceCut, lastedS, RESOLUTION_S, this.#expectedRate);
      this.#framesPerSecond = measured.framesPerSecond;
    }
    if (this.#offered !== undefined) this.#isWithinLimit = (this.#offered - 1) * this.#step <= pts - this.#cutPts;
    this.#offered = repeated ? undefined : 0;
    this.#sinceCut = 0;
    this.#cutPts = pts;
  }
}

/** In ticks. */
function keyframeStep(interval: KeyframeRule): number {
  switch (interval.type) {
    case 'cuts':
      return Number.POSITIVE_INFINITY;
    case 'every_frame':
      return 0;
    case 'seconds':
      return interval.seconds * VIDEO_TIMESCALE;
    default:
      return unreachable(interval);
  }
}
