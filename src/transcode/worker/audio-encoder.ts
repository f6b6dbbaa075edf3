/**
 * Encodes audio to AAC-LC.
 */
import { AV_CODEC_FLAG_GLOBAL_HEADER, AV_SAMPLE_FMT_FLTP, type FFEncoderCodec } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, Packet, Rational } from 'node-av/lib';
import type { AudioPacket } from '#transcode/worker-messages.ts';
import type { Planes } from './audio-blocks.ts';
import { channelLayout, emptyFrame } from './av.ts';

/** 128 kbit/s for stereo, at which FFmpeg's encoder is transparent to most listeners. */
const BITRATE_BPS_PER_CHANNEL = 64_000;
/** The number of samples in an AAC frame. */
export const BLOCK_SAMPLES = 1024;

/** An encoder from its first block to {@link AudioEncoder.finish}. */
export class AudioEncoder implements Disposable {
  /** The AudioSpecificConfig. */
  readonly config: Uint8Array;
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = emptyFrame();
  readonly #onPacket: (packet: AudioPacket) => void;

  /**
   * @param onPacket called in order; the first packet is needed only to decode the second, and its time is one packet before that of the
   *   first block, so that each packet has the time of the samples decoded from it
   * @throws {FFmpegError} when the encoder cannot be opened
   */
  constructor(format: { channels: 1 | 2; sampleRate: number }, onPacket: (packet: AudioPacket) => void) {
    const { channels, sampleRate } = format;
    this.#onPacket = onPacket;
    this.#packet.alloc();
    const codec = Codec.findEncoderByName('aac' as FFEncoderCodec);
    if (codec === null) throw new Error('this FFmpeg has no aac');
    const [context, frame] = [this.#context, this.#frame];
    context.allocContext3(codec);
    context.sampleRate = sampleRate;
    context.sampleFormat = AV_SAMPLE_FMT_FLTP;
    context.channelLayout = channelLayout(channels);
    context.timeBase = new Rational(1, sampleRate);
    context.bitRate = BigInt(channels * BITRATE_BPS_PER_CHANNEL);
    context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    FFmpegError.throwIfError(context.open2Sync(codec), 'open aac');
    this.config = Uint8Array.from(context.extraData ?? []);
    frame.format = AV_SAMPLE_FMT_FLTP;
    frame.sampleRate = sampleRate;
    frame.channelLayout = channelLayout(channels);
    frame.nbSamples = BLOCK_SAMPLES;
    FFmpegError.throwIfError(frame.getBuffer(), 'memory for audio');
  }

  /** Encodes a block of {@link BLOCK_SAMPLES} samples, which continues the previous one. */
  encode(planes: Planes, pts: number): void {
    const frame = this.#frame;
    FFmpegError.throwIfError(frame.makeWritable(), 'memory for audio');
    for (const [channel, { buffer, byteOffset }] of (frame.data ?? []).entries()) {
      new Float32Array(buffer, byteOffset, BLOCK_SAMPLES).set(planes[channel]!);
    }
    frame.pts = BigInt(pts);
    FFmpegError.throwIfError(this.#context.sendFrameSync(frame), 'encode audio');
    this.#receive();
  }

  /** Hands out what is left. Only disposal may follow. */
  finish(): void {
    this.#context.sendFrameSync(null);
    this.#receive();
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#frame.free();
    this.#context.freeContext();
  }

  #receive(): void {
    while (this.#context.receivePacketSync(this.#packet) >= 0) {
      const { pts, data } = this.#packet;
      this.#onPacket({ pts: Number(pts), data: data ?? new Uint8Array() });
      this.#packet.unref();
    }
  }
}
