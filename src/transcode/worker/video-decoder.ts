/**
 * Decodes a session's video, once for all renditions.
 */
import { AV_CODEC_ID_H264, AV_PKT_FLAG_KEY, AVERROR_EAGAIN, AVERROR_EOF, type AVPacketFlag } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, type Frame, Packet, Rational } from 'node-av/lib';
import type { Packet as MediaPacket } from '#media/packet.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { emptyFrame, setOptions } from './av.ts';

/** A decoder for one configuration. */
export class VideoDecoder implements Disposable {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = emptyFrame();
  readonly #onFrame: (frame: Frame) => void;
  #errors = 0;
  #needsKeyframe = true;

  /**
   * @param config an `avcC` record
   * @param onFrame called with each picture in presentation order, its `pts` the packet's; the frame is only lent
   * @throws {FFmpegError} when the configuration cannot be decoded
   */
  constructor(config: Uint8Array, onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
    this.#packet.alloc();
    const codec = Codec.findDecoder(AV_CODEC_ID_H264);
    if (codec === null) throw new Error('this FFmpeg cannot decode H.264');
    this.#context.allocContext3(codec);
    this.#context.extraData = Buffer.from(config);
    this.#context.pktTimebase = new Rational(1, VIDEO_TIMESCALE);
    // A frame thread more is a frame of delay more.
    setOptions(this.#context, { threads: '1' });
    FFmpegError.throwIfError(this.#context.open2Sync(codec), 'open the H.264 decoder');
  }

  /** Packets that could not be decoded. */
  get errors(): number {
    return this.#errors;
  }

  /**
   * Decodes a packet; pictures that have become complete are handed on.
   * @returns false when the packet was passed over: it is broken, or waits for a keyframe behind a broken one
   */
  decode(packet: MediaPacket): boolean {
    if (this.#needsKeyframe && !packet.keyframe) return false;
    this.#packet.data = packet.data as Buffer;
    this.#packet.pts = BigInt(packet.pts);
    this.#packet.dts = BigInt(packet.dts);
    this.#packet.flags = (packet.keyframe ? AV_PKT_FLAG_KEY : 0) as AVPacketFlag;
    const sent = this.#context.sendPacketSync(this.#packet);
    this.#packet.unref();
    const ok = this.#receive() && sent >= 0;
    this.#needsKeyframe = !ok;
    if (ok) return true;
    this.#errors += 1;
    this.#context.flushBuffers();
    return false;
  }

  /** Packets are missing before the next one, which is a keyframe: what was held for reordering is handed on. */
  skip(): void {
    this.finish();
    this.#context.flushBuffers();
    this.#needsKeyframe = true;
  }

  /** Hands on what was held for reordering. Only {@link skip} and disposal may follow. */
  finish(): void {
    this.#context.sendPacketSync(null);
    this.#receive();
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#frame.free();
    this.#context.freeContext();
  }

  /** False at a decoding error. */
  #receive(): boolean {
    for (;;) {
      const result = this.#context.receiveFrameSync(this.#frame);
      if (result === AVERROR_EAGAIN || result === AVERROR_EOF) return true;
      if (result < 0) return false;
      this.#onFrame(this.#frame);
      this.#frame.unref();
    }
  }
}
