/**
 * Scales frames to one size.
 */
import { AV_PIX_FMT_YUV420P, AVCOL_RANGE_JPEG } from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import type { Size } from '#transcode/size.ts';
import { matrixOf, ScalingStep, simplify } from './scaling-step.ts';

/** The output of a scaler. */
export interface ScalerOptions extends Size {
  /** Whether black to white is 0 to 255, as JPEG requires. Otherwise the range is not changed. */
  readonly fullRange?: boolean;
}

/** Makes `yuv420p`, which all supported H.264 profiles use, from frames of standard range of any size and format, which may change. */
export class Scaler implements Disposable {
  readonly #options: ScalerOptions;
  readonly #step: ScalingStep;

  constructor(options: ScalerOptions) {
    this.#options = options;
    this.#step = new ScalingStep(options, AV_PIX_FMT_YUV420P);
  }

  /** The frame in the target size: the given frame if it fits, otherwise one that is valid until the next call. */
  scale(source: Frame): Frame {
    simplify(source);
    const { width, height } = this.#options;
    const colorRange = this.#options.fullRange ? AVCOL_RANGE_JPEG : source.colorRange;
    const fits = source.width === width && source.height === height && source.colorRange === colorRange;
    if (fits && source.format === AV_PIX_FMT_YUV420P) return source;
    const { colorPrimaries, colorTrc } = source;
    return this.#step.run(source, { colorRange, colorSpace: matrixOf(source), colorPrimaries, colorTrc });
  }

  [Symbol.dispose](): void {
    this.#step[Symbol.dispose]();
  }
}
