/**
 * Decodes a session's audio to mono or stereo.
 */
import { AV_SAMPLE_FMT_FLTP, AVERROR_EAGAIN, AVERROR_EOF, type FFDecoderCodec } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, type Frame, Packet, Rational, SoftwareResampleContext } from 'node-av/lib';
import type { AudioCodec } from '#media/track.ts';
import type { AudioPacket, AudioSourceDescription } from '#transcode/worker-messages.ts';
import type { Planes } from './audio-blocks.ts';
import { channelLayout, emptyFrame, setOptions } from './av.ts';

/** The FFmpeg names of decoders. */
const DECODERS: Record<AudioCodec, string> = { aac: 'aac', opus: 'opus' };

/** The number of output channels: those of the source, or two. */
export function outputChannels({ channels }: Pick<AudioSourceDescription, 'channels'>): 1 | 2 {
  return channels === 1 ? 1 : 2;
}

/** A decoder for one configuration. */
export class AudioDecoder implements Disposable {
  readonly #source: AudioSourceDescription;
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = emptyFrame();
  readonly #mixed = emptyFrame();
  #mixer: SoftwareResampleContext | undefined;
  readonly #onSamples: (planes: Planes, pts: number) => void;

  /**
   * @param onSamples called with decoded samples and the time of the first; they may be used only during the call
   * @throws {FFmpegError} when the configuration cannot be decoded
   */
  constructor(source: AudioSourceDescription, onSamples: (planes: Planes, pts: number) => void) {
    this.#source = source;
    this.#onSamples = onSamples;
    this.#packet.alloc();
    const name = DECODERS[source.codec];
    const codec = Codec.findDecoderByName(name as FFDecoderCodec);
    if (codec === null) throw new Error(`this FFmpeg has no ${name}`);
    this.#context.allocContext3(codec);
    this.#context.extraData = Buffer.from(source.config);
    this.#context.sampleRate = source.sampleRate;
    this.#context.pktTimebase = new Rational(1, source.sampleRate);
    setOptions(this.#context, { threads: '1' });
    FFmpegError.throwIfError(this.#context.open2Sync(codec), `open ${name}`);
  }

  /** Decodes a packet. @returns false when it is broken */
  decode({ pts, data }: AudioPacket): boolean {
    this.#packet.data = data as Buffer;
    this.#packet.pts = BigInt(pts);
    this.#packet.dts = BigInt(pts);
    const sent = this.#context.sendPacketSync(this.#packet);
    this.#packet.unref();
    return this.#receive() && sent >= 0;
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.#frame.free();
    this.#mixed.free();
    this.#mixer?.free();
    this.#context.freeContext();
  }

  #receive(): boolean {
    for (;;) {
      const result = this.#context.receiveFrameSync(this.#frame);
      if (result === AVERROR_EAGAIN || result === AVERROR_EOF) return true;
      if (result < 0) return false;
      // The packet's time is not used, because of the first packet a decoder drops the samples that it only needs to settle (Opus's
      // pre-skip).
      this.#onSamples(this.#planes(this.#frame), Number(this.#frame.pts));
      this.#frame.unref();
    }
  }

  /** @throws {FFmpegError} when the decoded samples cannot be mixed */
  #planes(frame: Frame): Planes {
    const channels = outputChannels(this.#source);
    const samples = frame.channels === channels ? frame : this.#mix(frame, channels);
    return (samples.data ?? [])
      .slice(0, channels)
      .map(({ buffer, byteOffset }) => new Float32Array(buffer, byteOffset, samples.nbSamples));
  }

  #mix(frame: Frame, channels: 1 | 2): Frame {
    const mixed = this.#mixed;
    mixed.unref();
    mixed.format = AV_SAMPLE_FMT_FLTP;
    mixed.sampleRate = frame.sampleRate;
    mixed.channelLayout = channelLayout(channels);
    mixed.nbSamples = frame.nbSamples;
    FFmpegError.throwIfError(mixed.getBuffer(), 'memory for audio');
    if (this.#mixer === undefined) {
      this.#mixer = new SoftwareResampleContext();
      this.#mixer.alloc(); // it then takes its input format from the frames
    }
    FFmpegError.throwIfError(this.#mixer.convertFrame(mixed, frame), 'mix');
    return mixed;
  }
}
