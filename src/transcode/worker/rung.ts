/**
 * One rung of the ladder: scales, selects and encodes the frames of one rendition.
 */
import type { Frame } from 'node-av/lib';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { EncoderDescription, EncoderSettings } from '#transcode/encoder.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import { isFfmpegRefusal } from './av.ts';
import { FrameGate } from './frame-gate.ts';
import type { ScaledFrames } from './scaled-frames.ts';
import { Scaler } from './scaler.ts';
import { type EncodedFrame, VideoEncoder } from './video-encoder.ts';

/** An encoded frame of a rung. */
export interface RungFrame extends EncodedFrame {
  /** Whether it is the first of a segment. */
  readonly marked: boolean;
}

/** The options of a rung. */
export interface RungOptions {
  readonly plan: RenditionPlan;
  readonly encoder: EncoderDescription;
  readonly settings: EncoderSettings;
  /** Called when an encoder was opened, before its first frame. */
  readonly onConfig: (config: Uint8Array) => void;
  readonly onFrame: (frame: RungFrame) => void;
  /** Called when the encoder did not open, or refused a frame. No frame of the rung follows. */
  readonly onFailed: () => void;
}

/** When a frame is to be shown, and how. */
interface Offer {
  /** In ticks. */
  readonly pts: number;
  /** Whether a segment begins with it. */
  readonly marked: boolean;
  /** Whether it was shown before, at another time. */
  readonly repeated: boolean;
}

/** A rendition being made. Its output begins at the start of a segment, also after every interruption. */
export class Rung implements Disposable {
  readonly plan: RenditionPlan;
  readonly #options: RungOptions;
  readonly #gate: FrameGate;
  readonly #scaler: Scaler;
  #encoder: VideoEncoder | undefined;
  #hasFailed = false;
  /** Whether the encoder was opened for a rate at which it may hold frames back. */
  #mayHoldFrames = false;
  /** The ticks from decoding to showing a segment's first frame, while frames were reordered. */
  #compositionTicks = 0;
  /** The times of segment starts inside the encoder. */
  #starts: number[] = [];

  constructor(options: RungOptions) {
    this.plan = options.plan;
    this.#options = options;
    this.#gate = new FrameGate(options.plan, options.settings.framesPerSecond);
    this.#scaler = new Scaler(options.plan);
  }

  /**
   * Takes a frame or skips it.
   * @param frames the frame in the sizes of the larger rungs, to which this rung adds its own size if it takes the frame
   */
  offer(frames: ScaledFrames, { pts, marked, repeated }: Offer): void {
    const verdict = this.#gate.judge(pts, marked, repeated);
    if (verdict === 'skip') return;
    const scaled = this.#scaler.scale(frames.smallest);
    frames.add(scaled);
    // The frames that the encoder holds back are handed out now. At two frames per second they would otherwise come seconds later.
    if (marked && this.#mayHoldFrames && this.#isSlow()) {
      this.#encoder?.finish();
      this.#closeEncoder();
    }
    try {
      this.#encoder ??= this.#open(scaled);
      if (marked) this.#starts.push(pts);
      this.#encoder.encode(scaled, pts, verdict);
    } catch (error) {
      if (!isFfmpegRefusal(error)) throw error;
      this.#hasFailed = true;
      this.#closeEncoder();
      this.#options.onFailed();
    }
  }

  /** Whether its encoder has failed. The rung then takes no more frames. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Makes the next frame a keyframe. */
  refresh(): void {
    this.#gate.refresh();
  }

  /** Notes that frames are missing. Output continues at the next segment. */
  interrupt(): void {
    this.#gate.interrupt();
  }

  /** Encodes the held frames and continues at the next segment with a new encoder. */
  finish(): void {
    this.#encoder?.finish();
    this.stop();
  }

  /** Discards the held frames and the encoder. Output continues at the next segment. */
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
    this.#starts = [];
  }

  /** Whether the frame rate is below that of the encoder's settings. Sources may send fewer frames than they declare. */
  #isSlow(): boolean {
    return this.#gate.framesPerSecond < (this.#options.encoder.holdsFramesFromFps ?? 0);
  }

  #open(first: Frame): VideoEncoder {
    const { plan, encoder, onConfig, onFrame } = this.#options;
    const settings = { ...this.#options.settings, framesPerSecond: this.#gate.framesPerSecond };
    const frameTicks = plan.frameRate === undefined ? 0 : (VIDEO_TIMESCALE * plan.frameRate.den) / plan.frameRate.num;
    this.#mayHoldFrames = !this.#isSlow();
    // After an encoder that reordered frames, its composition time is kept. Without it, the segment between the two would last longer than
    // its frames.
    const shift = this.#mayHoldFrames ? 0 : this.#compositionTicks;
    let lastDts = Number.NEGATIVE_INFINITY;
    const opened = new VideoEncoder(encoder, { plan, settings, first }, (encoded) => {
      const marked = encoded.pts === this.#starts[0];
      if (marked) this.#starts.shift();
      // With B-frames, a frame is decoded as long before it is shown as the previous frame lasts. At a reduced rate, the last frame before a
      // segment start lasts for a shorter time, and the segment would begin later than its date.
      const isEarly = marked && encoded.dts < encoded.pts;
      const earliest = isEarly ? Math.max(lastDts + 1, Math.round(encoded.pts - frameTicks)) : encoded.dts - shift;
      lastDts = Math.min(encoded.dts, earliest);
      if (isEarly) this.#compositionTicks = encoded.pts - lastDts;
      onFrame({ ...encoded, dts: lastDts, marked });
    });
    onConfig(opened.config);
    return opened;
  }
}
