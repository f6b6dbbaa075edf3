/**
 * Scales pictures to one size.
 */
import { AV_PIX_FMT_YUV420P, AVCOL_RANGE_JPEG } from 'node-av/constants';
import { FFmpegError, type Frame, SoftwareScaleContext } from 'node-av/lib';
import { emptyFrame, setOptions } from './av.ts';

/** What a scaler makes. */
export interface ScalerOptions {
  readonly width: number;
  readonly height: number;
  /** Black to white is 0 to 255, as JPEG wants it; otherwise it stays as it is. */
  readonly fullRange?: boolean;
}

/** Makes `yuv420p`, what every H.264 profile of ours takes, of pictures of any size and format, which may change. */
export class Scaler implements Disposable {
  readonly #options: ScalerOptions;
  readonly #context = new SoftwareScaleContext();
  readonly #frame = emptyFrame();

  constructor(options: ScalerOptions) {
    this.#options = options;
    // Not initialised for a size: libswscale then follows whatever the frames are.
    this.#context.allocContext();
    setOptions(this.#context, { sws_flags: 'bicubic' });
  }

  /** The picture at the size wanted: the given one where it fits as it is, else one that is good until the next call. */
  scale(source: Frame): Frame {
    const { width, height } = this.#options;
    const colorRange = this.#options.fullRange ? AVCOL_RANGE_JPEG : source.colorRange;
    const fits = source.width === width && source.height === height && source.colorRange === colorRange;
    if (fits && source.format === AV_PIX_FMT_YUV420P) return source;
    const frame = this.#frame;
    if (frame.width === 0) {
      frame.width = width;
      frame.height = height;
      frame.format = AV_PIX_FMT_YUV420P;
      FFmpegError.throwIfError(frame.getBuffer(), 'memory for a picture');
    } else {
      FFmpegError.throwIfError(frame.makeWritable(), 'memory for a picture');
    }
    frame.colorRange = colorRange;
    frame.colorSpace = source.colorSpace;
    frame.colorPrimaries = source.colorPrimaries;
    frame.colorTrc = source.colorTrc;
    FFmpegError.throwIfError(this.#context.scaleFrameSync(frame, source), 'scale');
    return frame;
  }

  [Symbol.dispose](): void {
    this.#frame.free();
    this.#context.freeContext();
  }
}
