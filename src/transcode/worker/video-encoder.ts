/**
 * Encodes one rendition.
 */
import {
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_PICTURE_TYPE_I,
  AV_PICTURE_TYPE_NONE,
  AV_PICTURE_TYPE_P,
  AV_PIX_FMT_YUV420P,
  AVERROR_ENOMEM,
  type FFEncoderCodec,
} from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, type Frame, Packet, Rational } from 'node-av/lib';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import type { EncoderDescription, EncoderSettings } from '#transcode/encoder.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import type { Size } from '#transcode/size.ts';
import { emptyFrame, setOptions } from './av.ts';
import type { FrameVerdict } from './frame-gate.ts';

/** An encoded frame. Times are in ticks. */
export interface EncodedFrame {
  readonly pts: number;
  readonly dts: number;
  readonly keyframe: boolean;
  readonly data: Uint8Array;
}

/** FFmpeg's type for each role of a frame. */
const PICTURE_TYPES = { take: AV_PICTURE_TYPE_NONE, anchor: AV_PICTURE_TYPE_P, keyframe: AV_PICTURE_TYPE_I } as const;

/** If there is memory for this many frames, a lack of memory has not made the encoder fail. x264 needs fewer frames. */
const SPARE_FRAMES = 32;

/** An encoder from its first frame to {@link VideoEncoder.finish}. */
export class VideoEncoder implements Disposable {
  /** The `avcC` record. */
  readonly config: Uint8Array;
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #size: Size;
  readonly #onFrame: (frame: EncodedFrame) => void;

  /**
   * @param first a frame like those that will come: its size and colours are those of the rendition
   * @param onFrame called in decoding order
   * @throws {FFmpegError} when the encoder refuses, or lacks memory
   */
  constructor(
    description: EncoderDescription,
    { plan, settings, first }: { plan: RenditionPlan; settings: EncoderSettings; first: Frame },
    onFrame: (frame: EncodedFrame) => void,
  ) {
    this.#onFrame = onFrame;
    this.#size = plan;
    this.#packet.alloc();
    const codec = Codec.findEncoderByName(description.name as FFEncoderCodec);
    if (codec === null) throw new Error(`this FFmpeg has no ${description.name}`);
    const context = this.#context;
    context.allocContext3(codec);
    context.width = plan.width;
    context.height = plan.height;
    context.pixelFormat = AV_PIX_FMT_YUV420P;
    context.sampleAspectRatio = new Rational(1, 1);
    context.timeBase = new Rational(1, VIDEO_TIMESCALE);
    context.framerate = new Rational(Math.round(settings.framesPerSecond * 1000), 1000);
    context.colorRange = first.colorRange;
    context.colorSpace = first.colorSpace;
    context.colorPrimaries = first.colorPrimaries;
    context.colorTrc = first.colorTrc;
    context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    setOptions(context, description.options(plan, settings));
    this.#check(context.open2Sync(codec), `open ${description.name}`);
    this.config = Uint8Array.from(context.extraData ?? []);
  }

  /**
   * Encodes a frame. Encoded frames are handed out some frames later.
   * @param frame used only during the call
   * @param pts larger than that of the last frame
   * @param as an `anchor` does not become a B-frame, and `take` leaves the choice to the encoder
   * @throws {FFmpegError} when the encoder refuses the frame, or lacks memory
   */
  encode(frame: Frame, pts: number, as: Exclude<FrameVerdict, 'skip'>): void {
    frame.pts = BigInt(pts);
    frame.pictType = PICTURE_TYPES[as];
    this.#check(this.#context.sendFrameSync(frame), 'encode');
    this.#receive();
  }

  /** Hands out what is left. Only disposal may follow. */
  finish(): void {
    this.#context.sendFrameSync(null);
    this.#receive();
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#context.freeContext();
  }

  /** Throws if a result is an error. x264 reports a lack of memory like any other failure, so memory is checked here. */
  #check(result: number, what: string): void {
    if (result < 0 && !hasMemoryFor(this.#size)) FFmpegError.throwIfError(AVERROR_ENOMEM, 'memory for an encoder');
    FFmpegError.throwIfError(result, what);
  }

  #receive(): void {
    while (this.#context.receivePacketSync(this.#packet) >= 0) {
      const { pts, dts, isKeyframe, data } = this.#packet;
      this.#onFrame({ pts: Number(pts), dts: Number(dts), keyframe: isKeyframe, data: data ?? new Uint8Array() });
      this.#packet.unref();
    }
  }
}

/** Whether memory for an encoder of this size can be allocated now. It is freed at once, and never written to. */
function hasMemoryFor({ width, height }: Size): boolean {
  const frames = Array.from({ length: SPARE_FRAMES }, () =>
    Object.assign(emptyFrame(), { width, height, format: AV_PIX_FMT_YUV420P }),
  );
  const isEnough = frames.every((frame) => frame.getBuffer() >= 0);
  for (const frame of frames) frame.free();
  return isEnough;
}
