/**
 * One pass of libswscale.
 */
import {
  AV_FRAME_DATA_DYNAMIC_HDR_PLUS,
  AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
  AV_FRAME_FLAG_INTERLACED,
  AVCOL_PRI_UNSPECIFIED,
  AVCOL_SPC_BT709,
  AVCOL_SPC_RGB,
  AVCOL_SPC_UNSPECIFIED,
  AVCOL_TRC_UNSPECIFIED,
} from 'node-av/constants';
import { FFmpegError, type Frame, SoftwareScaleContext } from 'node-av/lib';
import type { Size } from '#transcode/size.ts';
import { emptyFrame, setOptions } from './av.ts';

/** The properties that define what the numbers of a frame mean. */
export type Colours = Pick<Frame, 'colorRange' | 'colorSpace' | 'colorPrimaries' | 'colorTrc'>;

/** Code points (ITU-T H.273) that libswscale supports. It refuses frames with other values. */
const MATRICES: ReadonlySet<number> = new Set([0, 1, 2, 4, 5, 6, 7, 9]);
const PRIMARIES: ReadonlySet<number> = new Set([1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 22]);
const TRANSFERS: ReadonlySet<number> = new Set([1, 2, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18]);

/** Scales frames into a frame of its own. */
export class ScalingStep implements Disposable {
  readonly #size: Size;
  readonly #format: Frame['format'];
  readonly #context = new SoftwareScaleContext();
  readonly #frame = emptyFrame();

  constructor(size: Size, format: Frame['format']) {
    this.#size = size;
    this.#format = format;
    // The context is not initialised for a size. libswscale then adapts to the frames, and maps tones where their colours differ.
    this.#context.allocContext();
    // Bicubic scaling, and bilinear for chroma, which is a third of the work.
    setOptions(this.#context, { sws_flags: 'bicublin' });
  }

  /** Scales a frame. The result is valid until the next call. @throws {FFmpegError} when the frame cannot be scaled */
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

/** Removes declarations for which libswscale would refuse a frame, or would take seconds to compute the mapping of every colour in each pass. */
export function simplify(frame: Frame): void {
  // Both fields are scaled as one frame. At half the height they blend, so that no lines are visible.
  frame.clearFlags(AV_FRAME_FLAG_INTERLACED);
  // Where this metadata names another mastering display than the output of a pass has, libswscale would map tones in that pass, and would
  // compute the mapping again whenever the metadata changes.
  frame.removeSideData(AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
  frame.removeSideData(AV_FRAME_DATA_DYNAMIC_HDR_PLUS);
  if (!MATRICES.has(frame.colorSpace)) frame.colorSpace = AVCOL_SPC_UNSPECIFIED;
  if (!PRIMARIES.has(frame.colorPrimaries)) frame.colorPrimaries = AVCOL_PRI_UNSPECIFIED;
  if (!TRANSFERS.has(frame.colorTrc)) frame.colorTrc = AVCOL_TRC_UNSPECIFIED;
}

/** The colour matrix of a YUV frame that is made from this one. */
export function matrixOf({ colorSpace }: Frame): Frame['colorSpace'] {
  return colorSpace === AVCOL_SPC_RGB ? AVCOL_SPC_BT709 : colorSpace;
}
