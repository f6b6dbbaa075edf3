/**
 * Makes JPEGs of the video from time to time.
 */
import { AV_CODEC_ID_MJPEG, AV_PIX_FMT_YUV420P, AVCOL_RANGE_JPEG } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, type Frame, Packet, Rational } from 'node-av/lib';
import { type PictureKind, TILE } from '#media/picture.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { Size } from '#transcode/size.ts';
import { emptyFrame, setOptions } from './av.ts';
import type { ScaledFrames } from './scaled-frames.ts';
import { Scaler } from './scaler.ts';

/** How pictures of a kind are made. */
interface PictureStyle {
  /** The interval in media time. */
  readonly everyS: number;
  /** The size that the picture must fit into, in pixels as displayed. */
  readonly within: Size;
  /** Whether every picture has exactly that size, with black bars. */
  readonly padded: boolean;
  /** Options of the encoder. The quantiser is the quality, from 2 (best) to 31. */
  readonly options: Readonly<Record<string, string>>;
}

const STYLES: Readonly<Record<PictureKind, PictureStyle>> = {
  poster: {
    everyS: 5,
    // The height is limited, because noise of a tall video would make a JPEG that is larger than the server accepts.
    within: { width: 640, height: 1280 },
    padded: false,
    options: { qmin: '5', qmax: '5' },
  },
  tile: {
    everyS: 10,
    within: TILE,
    padded: true,
    // With more than one slice, FFmpeg writes a restart marker after each row of blocks and uses the same Huffman tables in every
    // picture. `media/tile-sheet.ts` relies on both.
    options: { qmin: '7', qmax: '7', slices: '2' },
  },
};

/** Makes pictures of one kind from one source. */
export class Photographer implements Disposable {
  readonly #style: PictureStyle;
  readonly #onPicture: (jpeg: Uint8Array, pts: number) => void;
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #scaler: Scaler;
  readonly #width: number;
  /** The whole picture where it has bars. */
  readonly #canvas: Frame | undefined;
  #duePts = Number.NEGATIVE_INFINITY;

  /** @param source the size of a frame as displayed */
  constructor(kind: PictureKind, source: Size, onPicture: (jpeg: Uint8Array, pts: number) => void) {
    const style = STYLES[kind];
    const { within, padded } = style;
    const inner = pictureSize(kind, source);
    this.#style = style;
    this.#onPicture = onPicture;
    const { width, height } = padded ? within : inner;
    this.#width = inner.width;
    this.#canvas = padded && (inner.width !== width || inner.height !== height) ? blackFrame(within) : undefined;
    this.#scaler = new Scaler({ ...inner, fullRange: true });
    this.#packet.alloc();
    const codec = Codec.findEncoder(AV_CODEC_ID_MJPEG);
    if (codec === null) throw new Error('this FFmpeg cannot write JPEG');
    this.#context.allocContext3(codec);
    this.#context.width = width;
    this.#context.height = height;
    this.#context.pixelFormat = AV_PIX_FMT_YUV420P;
    this.#context.colorRange = AVCOL_RANGE_JPEG;
    this.#context.timeBase = new Rational(1, VIDEO_TIMESCALE);
    setOptions(this.#context, { threads: '1', ...style.options });
    FFmpegError.throwIfError(this.#context.open2Sync(codec), 'open the JPEG encoder');
  }

  /**
   * Makes a picture when one is due.
   * @param frames the present frame, of which the smallest size that is large enough is used
   */
  offer(frames: ScaledFrames, pts: number): void {
    if (pts < this.#duePts) return;
    this.#duePts = pts + this.#style.everyS * VIDEO_TIMESCALE;
    const scaled = this.#scaler.scale(frames.ofWidth(this.#width));
    const picture = this.#canvas === undefined ? scaled : drawInto(this.#canvas, scaled);
    picture.pts = BigInt(pts);
    if (this.#context.sendFrameSync(picture) < 0) return;
    if (this.#context.receivePacketSync(this.#packet) < 0) return;
    const jpeg = this.#packet.data;
    this.#packet.unref();
    if (jpeg !== null) this.#onPicture(jpeg, pts);
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#scaler[Symbol.dispose]();
    this.#canvas?.free();
    this.#context.freeContext();
  }
}

/** The size of the video in pictures of a kind, without bars. @param source the size of a frame as displayed */
export function pictureSize(kind: PictureKind, source: Size): Size {
  const { within } = STYLES[kind];
  const scale = Math.min(1, within.width / source.width, within.height / source.height);
  return { width: even(source.width * scale), height: even(source.height * scale) };
}

const even = (side: number): number => Math.max(2, 2 * Math.round(side / 2));

function blackFrame({ width, height }: Size): Frame {
  const frame = emptyFrame();
  frame.width = width;
  frame.height = height;
  frame.format = AV_PIX_FMT_YUV420P;
  frame.colorRange = AVCOL_RANGE_JPEG;
  FFmpegError.throwIfError(frame.getBuffer(), 'memory for a frame');
  for (const [index, plane] of frame.data!.entries()) plane.fill(index === 0 ? 0 : 128);
  return frame;
}

/** Copies a smaller picture into the middle of a canvas. */
function drawInto(canvas: Frame, picture: Frame): Frame {
  FFmpegError.throwIfError(canvas.makeWritable(), 'memory for a frame');
  const left = 2 * Math.floor((canvas.width - picture.width) / 4);
  const top = 2 * Math.floor((canvas.height - picture.height) / 4);
  for (const [index, plane] of picture.data!.entries()) {
    const half = index === 0 ? 1 : 2; // colour has half the resolution
    const target = canvas.data![index]!;
    const [pitch, targetPitch] = [picture.linesize[index]!, canvas.linesize[index]!];
    for (let y = 0; y < picture.height / half; y += 1) {
      const row = plane.subarray(y * pitch, y * pitch + picture.width / half);
      target.set(row, (top / half + y) * targetPitch + left / half);
    }
  }
  return canvas;
}
