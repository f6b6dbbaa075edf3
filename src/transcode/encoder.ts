/**
 * The contract of an encoder.
 */
import type { RenditionPlan } from './rendition-plan.ts';

/** The settings of an encoder besides the plan of its rendition. */
export interface EncoderSettings {
  /** The encoder's own name for a balance of speed and quality. */
  readonly preset: string;
  readonly threads: number;
  /** The expected frame rate. Frames may come at other times. */
  readonly framesPerSecond: number;
}

/** The description of an encoder: its FFmpeg name and options. It is plain data, so that only the worker loads FFmpeg. */
export interface EncoderDescription {
  /** The name in FFmpeg. */
  readonly name: string;
  /**
   * The frame rate from which the encoder may hold frames back. Below it the options differ, so that no frame is held back for longer than
   * a part. Without it, the encoder may hold frames back at every rate.
   */
  readonly holdsFramesFromFps?: number;
  /** The FFmpeg options by name. They must produce length-prefixed NAL units, and keyframes only where a frame is marked as one. */
  options(plan: RenditionPlan, settings: EncoderSettings): Readonly<Record<string, string>>;
}
