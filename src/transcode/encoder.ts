/**
 * The contract of an encoder.
 */
import type { RenditionPlan } from './rendition-plan.ts';

/** What an encoder is given besides the plan of its rendition. */
export interface EncoderSettings {
  /** The encoder's own name for a balance of speed and quality. */
  readonly preset: string;
  readonly threads: number;
  /** The expected frame rate. Frames may come at other times. */
  readonly framesPerSecond: number;
}

/** An encoder as data: its name in FFmpeg and its options, so that only the worker loads FFmpeg. */
export interface EncoderDescription {
  /** FFmpeg's name. */
  readonly name: string;
  /** Frame rate from which frames may wait for later ones; below it, options differ so that no frame waits longer than a part. */
  readonly waitsFrom?: number;
  /** FFmpeg options, by name. They must make length-prefixed NAL units and keyframes only where a frame is marked so. */
  options(plan: RenditionPlan, settings: EncoderSettings): Readonly<Record<string, string>>;
}
