/**
 * Decides which decoded frames a rendition takes, and in which role. Pure.
 *
 * Frames keep their own times, also where the frame rate is reduced: of a source at 50 frames per second, a rendition at 30 takes three of
 * five.
 */
import { unreachable } from '#lib/unreachable.ts';
import { recogniseFrameRate, TIMESTAMP_RESOLUTION_S } from '#media/frame-rate.ts';
import { framesPerPart, PartPlan } from '#media/part-length.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { KeyframeRule, RenditionPlan } from '#transcode/rendition-plan.ts';

/**
 * The role of a frame in a rendition. An `anchor` is the last frame of its part and must not be a B-frame, because a B-frame waits for the
 * next frame and would come a whole part later.
 */
export type FrameVerdict = 'skip' | 'take' | 'anchor' | 'keyframe';

/** How much too early, in ticks, a frame may come whose source keeps within the limit. Cameras in dim light are that uneven. */
const UNEVEN = 0.1 * VIDEO_TIMESCALE;

/** The gate of one rendition. Frames come in presentation order. */
export class FrameGate {
  /** The ticks between frames at the highest allowed rate. 0 takes all frames. */
  readonly #step: number;
  /** The ticks between keyframes besides those at the starts of segments. */
  readonly #keyframeStep: number;
  readonly #expectedRate: number;
  #framesPerSecond: number;
  /** The number of frames taken since the start of the segment. */
  #sinceCut = 0;
  /** The number of frames from the start of the segment to the start of the growing part. */
  #partFrom = 0;
  readonly #plan = new PartPlan();
  #cutPts = 0;
  /** The number of frames since the start of the segment, including skipped ones. Undefined when some are missing or repeated. */
  #offered: number | undefined;
  /** Whether the source kept within the limit by itself during the previous segment. The publisher's declaration is not used. */
  #isWithinLimit = false;
  #begun = false;
  #previousPts = 0;
  #lastPts = Number.NEGATIVE_INFINITY;
  /** The times at which the next frame, and the next keyframe, are due. */
  #due = Number.NEGATIVE_INFINITY;
  #keyframeDue = 0;

  /**
   * @param framesPerSecond the expected rate of the rendition; because publishers' declarations may be wrong, it is measured over each
   *   segment
   */
  constructor({ frameRate, keyframes }: Pick<RenditionPlan, 'frameRate' | 'keyframes'>, framesPerSecond: number) {
    this.#expectedRate = framesPerSecond;
    this.#framesPerSecond = framesPerSecond;
    this.#step = frameRate === undefined ? 0 : (VIDEO_TIMESCALE * frameRate.den) / frameRate.num;
    this.#keyframeStep = keyframeStep(keyframes);
  }

  /** The rate of the frames taken, measured over a segment, and before that as expected. */
  get framesPerSecond(): number {
    return this.#framesPerSecond;
  }

  /** Makes the next frame that passes a keyframe. */
  refresh(): void {
    this.#keyframeDue = Number.NEGATIVE_INFINITY;
  }

  /** Notes that frames were lost. Nothing passes until the next segment, so that segments stay the same in every rendition. */
  interrupt(): void {
    this.#begun = false;
    this.#offered = undefined;
    this.#sinceCut = 0;
  }

  /**
   * Decides about a frame. Called once for every frame, in order.
   * @param pts in ticks; a frame not later than the last one taken is skipped
   * @param marked whether a segment begins with this frame, which is then always taken
   * @param repeated whether the frame was shown before at another time, so that it does not count for the source's rate
   */
  judge(pts: number, marked: boolean, repeated = false): FrameVerdict {
    // The tolerance is half a source frame, because publishers' times are whole milliseconds.
    const tolerance = Math.max(0, pts - this.#previousPts) / 2;
    const early = this.#isWithinLimit ? Math.max(UNEVEN, tolerance) : tolerance;
    this.#previousPts = pts;
    if (repeated) this.#offered = undefined;
    else if (this.#offered !== undefined) this.#offered += 1;
    if (pts <= this.#lastPts || (!marked && !this.#begun)) return 'skip';
    if (!marked && pts + early < this.#due) return 'skip';
    // The grid of a reduced rate begins again at every segment, and where frames are missing.
    this.#due = marked || pts > this.#due + this.#step ? pts + this.#step : this.#due + this.#step;
    this.#begun = true;
    if (marked) this.#beginSegment(pts, repeated);
    this.#lastPts = pts;
    this.#sinceCut += 1;
    const endsPart = this.#endsPart();
    if (!marked && pts + tolerance < this.#keyframeDue) {
      return endsPart ? 'anchor' : 'take';
    }
    this.#keyframeDue = pts + this.#keyframeStep;
    return 'keyframe';
  }

  /** Whether the newest frame ends its part. Called once for every frame taken. */
  #endsPart(): boolean {
    const end = this.#plan.endOf(this.#partFrom) ?? this.#partFrom + framesPerPart(this.#framesPerSecond);
    if (this.#sinceCut < end) return false;
    this.#partFrom = this.#sinceCut;
    return true;
  }

  #beginSegment(pts: number, repeated: boolean): void {
    if (this.#sinceCut > 0) {
      const lastedS = (pts - this.#cutPts) / VIDEO_TIMESCALE;
      const measured = recogniseFrameRate(this.#sinceCut, lastedS, TIMESTAMP_RESOLUTION_S, this.#expectedRate);
      this.#framesPerSecond = measured.framesPerSecond;
      this.#plan.add(this.#sinceCut, framesPerPart(this.#framesPerSecond));
    }
    if (this.#offered !== undefined) this.#isWithinLimit = (this.#offered - 1) * this.#step <= pts - this.#cutPts;
    this.#offered = repeated ? undefined : 0;
    this.#sinceCut = 0;
    this.#partFrom = 0;
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
