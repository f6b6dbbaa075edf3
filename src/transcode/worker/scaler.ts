/**
 * Scales pictures to one size, and maps the tones of those of high dynamic range.
 */
import {
  AV_PIX_FMT_YUV420P,
  AV_PIX_FMT_YUV420P10LE,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_JPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_ARIB_STD_B67,
  AVCOL_TRC_BT709,
  AVCOL_TRC_SMPTE2084,
} from 'node-av/constants';
import { FFmpegError, type Frame, SoftwareScaleContext } from 'node-av/lib';
import { emptyFrame, setOptions } from './av.ts';

/** What a scaler makes. */
export interface ScalerOptions {
  readonly width: number;
  readonly height: number;
  /** Black to white is 0 to 255, as JPEG wants it; otherwise it stays as it is. */
  readonly fullRange?: boolean;
}

/** What the numbers of a picture mean. */
type Colours = Pick<Frame, 'colorRange' | 'colorSpace' | 'colorPrimaries' | 'colorTrc'>;

/** What eight bits and most displays show. */
const SDR = { colorSpace: AVCOL_SPC_BT709, colorPrimaries: AVCOL_PRI_BT709, colorTrc: AVCOL_TRC_BT709 } as const;

/** Makes `yuv420p`, what every H.264 profile of ours takes, of pictures of any size and format, which may change. */
export class Scaler implements Disposable {
  readonly #options: ScalerOptions;
  readonly #last: ScalingStep;
  readonly #first: ScalingStep;

  constructor(options: ScalerOptions) {
    this.#options = options;
    this.#first = new ScalingStep(options, AV_PIX_FMT_YUV420P10LE);
    this.#last = new ScalingStep(options, AV_PIX_FMT_YUV420P);
  }

  /** The picture at the size wanted: the given one where it fits as it is, else one that is good until the next call. */
  scale(source: Frame): Frame {
    const { width, height } = this.#options;
    const { colorSpace, colorPrimaries, colorTrc } = source;
    const colorRange = this.#options.fullRange ? AVCOL_RANGE_JPEG : source.colorRange;
    const fits = source.width === width && source.height === height && source.colorRange === colorRange;
    if (isHighRange(source)) {
      // Mapping costs by the pixels read, ten times what scaling does: so the size comes first.
      const small = this.#first.run(source, source);
      return this.#last.run(small, { ...SDR, colorRange });
    }
    if (fits && source.format === AV_PIX_FMT_YUV420P) return source;
    return this.#last.run(source, { colorRange, colorSpace, colorPrimaries, colorTrc });
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
    this.#last[Symbol.dispose]();
  }
}

/** One pass of libswscale, into a frame of its own. */
class ScalingStep implements Disposable {
  readonly #size: ScalerOptions;
  readonly #format: Frame['format'];
  readonly #context = new SoftwareScaleContext();
  readonly #frame = emptyFrame();

  constructor(size: ScalerOptions, format: Frame['format']) {
    this.#size = size;
    this.#format = format;
    // Not initialised for a size: libswscale then follows whatever the frames are, and maps tones where their colours differ.
    this.#context.allocContext();
    setOptions(this.#context, { sws_flags: 'bicubic' });
  }

  run(source: Frame, colours: Colours): Frame {
    const frame = this.#frame;
    if (frame.width === 0) {
      frame.width = this.#size.width;
      frame.height = this.#size.height;
      frame.format = this.#format;
      FFmpegError.throwIfError(frame.getBuffer(), 'memory for a picture');
    } else {
      FFmpegError.throwIfError(frame.makeWritable(), 'memory for a picture');
    }
    frame.colorRange = colours.colorRange;
    frame.colorSpace = colours.colorSpace;
    frame.colorPrimaries = colours.colorPrimaries;
    frame.colorTrc = colours.colorTrc;
    FFmpegError.throwIfError(this.#context.scaleFrameSync(frame, source), 'scale');
    return frame;
  }

  [Symbol.dispose](): void {
    this.#frame.free();
    this.#context.freeContext();
  }
}

/** HLG or PQ. */
function isHighRange({ colorTrc }: Frame): boolean {
  return colorTrc === AVCOL_TRC_SMPTE2084 || colorTrc === AVCOL_TRC_ARIB_STD_B67;
}
