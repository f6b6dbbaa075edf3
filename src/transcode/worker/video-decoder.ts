/**
 * Decodes a session's video, once for all renditions.
 */
import {
  AV_PKT_FLAG_KEY,
  AVERROR_EAGAIN,
  AVERROR_ENOMEM,
  AVERROR_EOF,
  type AVPacketFlag,
  type FFDecoderCodec,
} from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, type Frame, Packet, Rational } from 'node-av/lib';
import { MAX_FRAME_SAMPLES, MAX_FRAME_SIDE } from '#media/frame-size.ts';
import type { Packet as MediaPacket } from '#media/packet.ts';
import { VIDEO_TIMESCALE, type VideoCodec, type VideoTrack } from '#media/track.ts';
import { emptyFrame, setOptions } from './av.ts';

/**
 * The server refuses larger frames. This limit enforces it again before any memory is allocated. FFmpeg rounds the length of each line up
 * to a multiple of 64 samples.
 */
const MAX_PIXELS = String(MAX_FRAME_SAMPLES + 64 * MAX_FRAME_SIDE);

/**
 * The FFmpeg names and options of decoders. FFmpeg's own AV1 decoder needs a graphics card. Each has one thread, because another frame thread
 * costs another frame of delay. For dav1d that is a separate setting.
 */
const DECODERS: Record<VideoCodec, { readonly name: string; readonly options: Readonly<Record<string, string>> }> = {
  h264: { name: 'h264', options: { threads: '1', max_pixels: MAX_PIXELS } },
  h265: { name: 'hevc', options: { threads: '1', max_pixels: MAX_PIXELS } },
  av1: { name: 'libdav1d', options: { threads: '1', max_frame_delay: '1', max_pixels: MAX_PIXELS } },
};

/** A decoder for one configuration. */
export class VideoDecoder implements Disposable {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  #frame = emptyFrame();
  /** The frame that was handed out last. */
  #shown = emptyFrame();
  readonly #onFrame: (frame: Frame, before: Frame | undefined) => void;
  #errors = 0;
  #needsKeyframe = true;

  /**
   * @param source codec and configuration
   * @param onFrame called with each frame in presentation order, with the `pts` of its packet, and with the previous frame; both may be
   *   used only during the call
   * @throws {FFmpegError} when the configuration cannot be decoded
   */
  constructor(
    source: Pick<VideoTrack, 'codec' | 'config'>,
    onFrame: (frame: Frame, before: Frame | undefined) => void,
  ) {
    this.#onFrame = onFrame;
    this.#packet.alloc();
    const { name, options } = DECODERS[source.codec];
    const codec = Codec.findDecoderByName(name as FFDecoderCodec);
    if (codec === null) throw new Error(`this FFmpeg has no ${name}`);
    this.#context.allocContext3(codec);
    this.#context.extraData = Buffer.from(source.config);
    this.#context.pktTimebase = new Rational(1, VIDEO_TIMESCALE);
    setOptions(this.#context, options);
    FFmpegError.throwIfError(this.#context.open2Sync(codec), `open ${name}`);
  }

  /** The frame that was handed out last. Undefined before the first. It is valid until the next one is handed out. */
  get shown(): Frame | undefined {
    return this.#shown.width === 0 ? undefined : this.#shown;
  }

  /** The number of packets that could not be decoded. */
  get errors(): number {
    return this.#errors;
  }

  /**
   * Decodes a packet, and hands out the frames that it completes.
   * @returns false when the packet was skipped: it is broken, or follows a broken one and is not a keyframe
   * @throws {FFmpegError} when memory cannot be allocated; nothing more can be decoded then
   */
  decode(packet: MediaPacket): boolean {
    if (this.#needsKeyframe && !packet.keyframe) return false;
    this.#packet.data = packet.data as Buffer;
    this.#packet.pts = BigInt(packet.pts);
    this.#packet.dts = BigInt(packet.dts);
    this.#packet.flags = (packet.keyframe ? AV_PKT_FLAG_KEY : 0) as AVPacketFlag;
    const sent = this.#context.sendPacketSync(this.#packet);
    this.#packet.unref();
    throwIfOutOfMemory(sent);
    const ok = this.#receive() && sent >= 0;
    this.#needsKeyframe = !ok;
    if (ok) return true;
    this.#errors += 1;
    this.#context.flushBuffers();
    return false;
  }

  /** Notes that packets are missing before the next one, which is a keyframe. Frames held for reordering are handed out. */
  skip(): void {
    this.finish();
    this.#context.flushBuffers();
    this.#needsKeyframe = true;
  }

  /** Hands out the frames held for reordering. Only {@link skip} and disposal may follow. */
  finish(): void {
    this.#context.sendPacketSync(null);
    this.#receive();
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#frame.free();
    this.#shown.free();
    this.#context.freeContext();
  }

  /** Returns false after a decoding error. */
  #receive(): boolean {
    for (;;) {
      const result = this.#context.receiveFrameSync(this.#frame);
      if (result === AVERROR_EAGAIN || result === AVERROR_EOF) return true;
      throwIfOutOfMemory(result);
      if (result < 0) return false;
      const before = this.shown;
      [this.#frame, this.#shown] = [this.#shown, this.#frame];
      this.#onFrame(this.#shown, before);
      this.#frame.unref();
    }
  }
}

function throwIfOutOfMemory(result: number): void {
  if (result === AVERROR_ENOMEM) FFmpegError.throwIfError(result, 'decode');
}
