/**
 * One rung of the ladder: scales, chooses frames and encodes one rendition.
 */
import type { Frame } from 'node-av/lib';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { EncoderDescription, EncoderSettings } from '#transcode/encoder.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import { FrameGate } from './frame-gate.ts';
import { Scaler } from './scaler.ts';
import { type EncodedPicture, VideoEncoder } from './video-encoder.ts';

/** A picture a rung made. */
export interface RungPicture extends EncodedPicture {
  /** The first of a segment. */
  readonly cut: boolean;
}

/** What a rung is given. */
export interface RungOptions {
  readonly plan: RenditionPlan;
  readonly encoder: EncoderDescription;
  readonly settings: EncoderSettings;
  /** An encoder was opened; called before its first picture. */
  readonly onConfig: (config: Uint8Array) => void;
  readonly onPicture: (picture: RungPicture) => void;
}

/** When a frame is to be shown, and as what. */
interface Offer {
  /** In ticks. */
  readonly pts: number;
  /** A segment begins with it. */
  readonly cut: boolean;
  /** It was shown before, at another time. */
  readonly repeated: boolean;
}

/** A rendition being made. Its output begins at a cut, also after every interruption. */
export class Rung implements Disposable {
  readonly plan: RenditionPlan;
  readonly #options: RungOptions;
  readonly #gate: FrameGate;
  readonly #scaler: Scaler;
  #encoder: VideoEncoder | undefined;
  /** The encoder was opened for a rate at which frames may wait for those behind them. */
  #waits = false;
  /** Ticks from decoding a segment's first picture to showing it, while frames were reordered. */
  #compositionTicks = 0;
  /** Of cuts inside the encoder. */
  #cuts: number[] = [];

  constructor(options: RungOptions) {
    this.plan = options.plan;
    this.#options = options;
    this.#gate = new FrameGate(options.plan, options.settings.framesPerSecond);
    this.#scaler = new Scaler(options.plan);
  }

  /**
   * Takes a frame or leaves it.
   * @param source the decoded frame, or a larger rung's picture of the same moment
   * @returns the scaled picture for smaller rungs; undefined when the frame was left
   */
  offer(source: Frame, { pts, cut, repeated }: Offer): Frame | undefined {
    const verdict = this.#gate.judge(pts, cut, repeated);
    if (verdict === 'skip') return undefined;
    const picture = this.#scaler.scale(source);
    // What is held comes out here, and not, at two frames a second, seconds later.
    if (cut && this.#waits && this.#isSlow()) {
      this.#encoder?.finish();
      this.#closeEncoder();
    }
    this.#encoder ??= this.#open(picture);
    if (cut) this.#cuts.push(pts);
    this.#encoder.encode(picture, pts, verdict);
    return picture;
  }

  /** The next picture is to be a keyframe. */
  refresh(): void {
    this.#gate.refresh();
  }

  /** Frames are missing: goes on at the next cut. */
  interrupt(): void {
    this.#gate.interrupt();
  }

  /** Encodes what is held and goes on at the next cut with a new encoder. */
  finish(): void {
    this.#encoder?.finish();
    this.stop();
  }

  /** Gives up what is held, and the encoder; goes on at the next cut. */
  stop(): void {
    this.#gate.interrupt();
    this.#closeEncoder();
  }

  [Symbol.dispose](): void {
    this.stop();
    this.#scaler[Symbol.dispose]();
  }

  #closeEncoder(): void {
    this.#encoder?.[Symbol.dispose]();
    this.#encoder = undefined;
    this.#cuts = [];
  }

  /** Sources declare what they do not send. */
  #isSlow(): boolean {
    return this.#gate.framesPerSecond < (this.#options.encoder.waitsFrom ?? 0);
  }

  #open(first: Frame): VideoEncoder {
    const { plan, encoder, onConfig, onPicture } = this.#options;
    const settings = { ...this.#options.settings, framesPerSecond: this.#gate.framesPerSecond };
    const frameTicks = plan.frameRate === undefined ? 0 : (VIDEO_TIMESCALE * plan.frameRate.den) / plan.frameRate.num;
    this.#waits = !this.#isSlow();
    // Behind one that reordered frames: without its composition time the segment between them would last longer than its pictures.
    const shift = this.#waits ? 0 : this.#compositionTicks;
    let lastDts = Number.NEGATIVE_INFINITY;
    const opened = new VideoEncoder(encoder, { plan, settings, first }, (picture) => {
      const cut = picture.pts === this.#cuts[0];
      if (cut) this.#cuts.shift();
      // With B-frames it is decoded as long before it is shown as the picture before it lasts: at a reduced rate a cut makes that
      // shorter, and the segment would begin later than its date says.
      const isEarly = cut && picture.dts < picture.pts;
      const earliest = isEarly ? Math.max(lastDts + 1, Math.round(picture.pts - frameTicks)) : picture.dts - shift;
      lastDts = Math.min(picture.dts, earliest);
      if (isEarly) this.#compositionTicks = picture.pts - lastDts;
      onPicture({ ...picture, dts: lastDts, cut });
    });
    onConfig(opened.config);
    return opened;
  }
}
