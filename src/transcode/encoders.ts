/**
 * The encoders renditions can be made with: a list, one entry an encoder. The first that fits is taken.
 */
import { libx264 } from './encoders/libx264.ts';
import type { RenditionPlan } from './rendition-plan.ts';

/** What an encoder is told besides the plan. */
export interface EncoderSettings {
  /** Speed against quality, in the encoder's own words. */
  readonly preset: string;
  readonly threads: number;
  /** What is to be expected; frames come when they come. */
  readonly framesPerSecond: number;
}

/** An encoder as data: its name in FFmpeg and its options, so that only the worker loads FFmpeg. */
export interface EncoderDescription {
  /** FFmpeg's name. */
  readonly name: string;
  /** Below so many frames a second its options are others, so that none waits for those behind it longer than a part. */
  readonly waitsFrom?: number;
  /** FFmpeg options, by name. They must make length-prefixed NAL units and keyframes only where a frame is marked so. */
  options(plan: RenditionPlan, settings: EncoderSettings): Readonly<Record<string, string>>;
}

/** Every encoder. */
export const ENCODERS: readonly [EncoderDescription, ...EncoderDescription[]] = [libx264];
