/**
 * Scales frames to one size, and maps the tones of those with high dynamic range.
 */
import {
  AV_FRAME_FLAG_INTERLACED,
  AV_PIX_FMT_YUV420P,
  AV_PIX_FMT_YUV420P10LE,
  AVCOL_PRI_BT709,
  AVCOL_PRI_UNSPECIFIED,
  AVCOL_RANGE_JPEG,
  AVCOL_SPC_BT709,
  AVCOL_SPC_RGB,
  AVCOL_SPC_UNSPECIFIED,
  AVCOL_TRC_ARIB_STD_B67,
  AVCOL_TRC_BT709,
  AVCOL_TRC_SMPTE2084,
  AVCOL_TRC_UNSPECIFIED,
} from 'node-av/constants';
import { FFmpegError, type Frame, SoftwareScaleContext } from 'node-av/lib';
import { emptyFrame, setOptions } from './av.ts';

/** The output of a scaler. */
export interface ScalerOptions {
  readonly width: number;
  readonly height: number;
  /** Whether black to white is 0 to 255, as JPEG requires. Otherwise the range is not changed. */
  readonly fullRange?: boolean;
}

/** The properties that define what the numbers of a frame mean. */
type Colours = Pick<Frame, 'colorRange' | 'colorSpace' | 'colorPrimaries' | 'colorTrc'>;

/** The colours that eight bits and most displays can show. */
const SDR = { colorSpace: AVCOL_SPC_BT709, colorPrimaries: AVCOL_PRI_BT709, colorTrc: AVCOL_TRC_BT709 } as const;

/** Code points (ITU-T H.273) that libswscale supports. It refuses frames with other values. */
const MATRICES: ReadonlySet<number> = new Set([0, 1, 2, 4, 5, 6, 7, 9]);
const PRIMARIES: ReadonlySet<number> = new Set([1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 22]);
const TRANSFERS: ReadonlySet<number> = new Set([1, 2, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18]);

/** Makes `yuv420p`, which all supported H.264 profiles use, from frames of any size and format, which may change. */
export class Scaler implements Disposable {
  readonly #options: ScalerOptions;
  readonly #last: ScalingStep;
  readonly #first: ScalingStep;
  /** Separate from {@link #last}, because frames of standard and of high range may alternate, and each change would cost seconds. */
  readonly #mapping: ScalingStep;

  constructor(options: ScalerOptions) {
    this.#options = options;
    this.#first = new ScalingStep(options, AV_PIX_FMT_YUV420P10LE);
    this.#mapping = new ScalingStep(options, AV_PIX_FMT_YUV420P);
    this.#last = new ScalingStep(options, AV_PIX_FMT_YUV420P);
  }

  /** The frame in the target size: the given frame if it fits, otherwise one that is valid until the next call. */
  scale(source: Frame): Frame {
    simplify(source);
    const { width, height } = this.#options;
    const { colorPrimaries, colorTrc } = source;
    const colorSpace = source.colorSpace === AVCOL_SPC_RGB ? AVCOL_SPC_BT709 : source.colorSpace;
    const colorRange = this.#options.fullRange ? AVCOL_RANGE_JPEG : source.colorRange;
    const fits = source.width === width && source.height === height && source.colorRange === colorRange;
    if (isHighRange(source)) {
      // The cost of tone mapping depends on the pixels read and is ten times that of scaling, so the size is reduced first.
      const small = this.#first.run(source, source);
      return this.#mapping.run(small, { ...SDR, colorRange });
    }
    if (fits && source.format === AV_PIX_FMT_YUV420P) return source;
    return this.#last.run(source, { colorRange, colorSpace, colorPrimaries, colorTrc });
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
    this.#mapping[Symbol.dispose]();
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
    // The context is not initialised for a size. libswscale then adapts to the frames, and maps tones where their colours differ.
    this.#context.allocContext();
    // Bicubic scaling, and bilinear for chroma, which is a third of the work.
    setOptions(this.#context, { sws_flags: 'bicublin' });
  }

  run(source: Frame, colours: Colours): Frame {
    const frame = this.#frame;
    if (frame.width === 0) {
      frame.width = this.#size.width;
      frame.height = this.#size.height;
      frame.format = this.#format;
      FFmpegError.throwIfError(frame.getBuffer(), 'memory for a frame');
    } else {
      FFmpegError.throwIfError(frame.makeWritable(), 'memory for a frame');
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

/** Removes declarations of a hostile bitstream for which libswscale would refuse a frame. */
function simplify(frame: Frame): void {
  // Both fields are scaled as one frame. At half the height they blend, so that no lines are visible.
  frame.clearFlags(AV_FRAME_FLAG_INTERLACED);
  if (!MATRICES.has(frame.colorSpace)) frame.colorSpace = AVCOL_SPC_UNSPECIFIED;
  if (!PRIMARIES.has(frame.colorPrimaries)) frame.colorPrimaries = AVCOL_PRI_UNSPECIFIED;
  if (!TRANSFERS.has(frame.colorTrc)) frame.colorTrc = AVCOL_TRC_UNSPECIFIED;
}

/** Whether the transfer function is HLG or PQ. */
function isHighRange({ colorTrc }: Frame): boolean {
  return colorTrc === AVCOL_TRC_SMPTE2084 || colorTrc === AVCOL_TRC_ARIB_STD_B67;
}
