/**
 * Makes a JPEG of the video from time to time.
 */
import { AV_CODEC_ID_MJPEG, AV_PIX_FMT_YUV420P, AVCOL_RANGE_JPEG } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, type Frame, Packet, Rational } from 'node-av/lib';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { setOptions } from './av.ts';
import { Scaler } from './scaler.ts';

/** In pixels, as displayed. */
const MAX_WIDTH = 640;
/** The interval in media time. */
const EVERY_S = 5;
/** The JPEG quality, from 2 (best) to 31. */
const QUANTISER = '5';

/** Thumbnails of one source. */
export class Thumbnailer implements Disposable {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #scaler: Scaler;
  readonly #width: number;
  readonly #onThumbnail: (jpeg: Uint8Array) => void;
  #duePts = Number.NEGATIVE_INFINITY;

  /** @param source the size of a frame as displayed */
  constructor(source: { width: number; height: number }, onThumbnail: (jpeg: Uint8Array) => void) {
    this.#onThumbnail = onThumbnail;
    const scale = Math.min(1, MAX_WIDTH / source.width);
    const [width, height] = [source.width, source.height].map((side) =>
      Math.max(2, 2 * Math.round((side * scale) / 2)),
    );
    this.#width = width!;
    this.#scaler = new Scaler({ width: width!, height: height!, fullRange: true });
    this.#packet.alloc();
    const codec = Codec.findEncoder(AV_CODEC_ID_MJPEG);
    if (codec === null) throw new Error('this FFmpeg cannot write JPEG');
    this.#context.allocContext3(codec);
    this.#context.width = width!;
    this.#context.height = height!;
    this.#context.pixelFormat = AV_PIX_FMT_YUV420P;
    this.#context.colorRange = AVCOL_RANGE_JPEG;
    this.#context.timeBase = new Rational(1, VIDEO_TIMESCALE);
    setOptions(this.#context, { threads: '1', qmin: QUANTISER, qmax: QUANTISER });
    FFmpegError.throwIfError(this.#context.open2Sync(codec), 'open the JPEG encoder');
  }

  /**
   * Makes a thumbnail when one is due.
   * @param frames frames of the same time: the source's first, then scaled ones; the smallest that is large enough is used
   */
  offer(frames: readonly [Frame, ...Frame[]], pts: number): void {
    if (pts < this.#duePts) return;
    this.#duePts = pts + EVERY_S * VIDEO_TIMESCALE;
    const scaled = this.#scaler.scale(frames.findLast(({ width }) => width >= this.#width) ?? frames[0]);
    scaled.pts = BigInt(pts);
    if (this.#context.sendFrameSync(scaled) < 0) return;
    if (this.#context.receivePacketSync(this.#packet) < 0) return;
    const jpeg = this.#packet.data;
    this.#packet.unref();
    if (jpeg !== null) this.#onThumbnail(jpeg);
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#scaler[Symbol.dispose]();
    this.#context.freeContext();
  }
}
