/**
 * The publisher's encoders: they make a frame or a block of audio, encode it and give the packets to the muxer. Only child processes import
 * this file, because it loads FFmpeg.
 */
import {
  AV_CHANNEL_ORDER_NATIVE,
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_OPT_SEARCH_CHILDREN,
  AV_OPT_TYPE_STRING,
  AV_PICTURE_TYPE_I,
  AV_PICTURE_TYPE_NONE,
  AV_PIX_FMT_YUV420P,
  AV_SAMPLE_FMT_FLT,
  AV_SAMPLE_FMT_FLTP,
  type FFEncoderCodec,
} from 'node-av/constants';
import {
  type ChannelLayout,
  Codec,
  CodecContext,
  FFmpegError,
  type FormatContext,
  Frame,
  Packet,
  Rational,
  type Stream,
} from 'node-av/lib';
import type { FrameCode } from './frame-code.ts';
import type { AudioJob, VideoJob } from './publisher-protocol.ts';
import { drawAudio, drawPicture, type PicturePlanes } from './test-pattern.ts';

/** Opens an encoder as a stream of the output, and moves its packets there. */
class Encoder implements Disposable {
  readonly context = new CodecContext();
  readonly frame = new Frame();
  readonly #output: FormatContext;
  readonly #packet = new Packet();
  #stream!: Stream;

  constructor(output: FormatContext) {
    this.#output = output;
    this.frame.alloc();
    this.#packet.alloc();
  }

  /** @param configure sets what must be set before the codec opens */
  open(name: string, options: Record<string, string>, configure: (context: CodecContext) => void): void {
    const codec = Codec.findEncoderByName(name as FFEncoderCodec);
    if (codec === null) throw new Error(`this FFmpeg has no ${name}`);
    this.context.allocContext3(codec);
    configure(this.context);
    this.context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    // Not by a Dictionary: open2Sync frees it and node-av's finalizer frees it again.
    for (const [option, value] of Object.entries(options)) {
      FFmpegError.throwIfError(
        this.context.setOption(option, value, AV_OPT_TYPE_STRING, AV_OPT_SEARCH_CHILDREN),
        `${name} ${option}`,
      );
    }
    FFmpegError.throwIfError(this.context.open2Sync(codec), `open ${name}`);
    this.#stream = this.#output.newStream(codec);
    this.#stream.timeBase = this.context.timeBase;
    FFmpegError.throwIfError(this.#stream.codecpar.fromContext(this.context), 'stream parameters');
  }

  /**
   * Encodes a frame, or, with null, writes the packets that the encoder still holds. Returns false when the output cannot be written any
   * more.
   */
  push(frame: Frame | null): boolean {
    FFmpegError.throwIfError(this.context.sendFrameSync(frame), 'encode');
    while (this.context.receivePacketSync(this.#packet) >= 0) {
      this.#packet.streamIndex = this.#stream.index;
      this.#packet.rescaleTs(this.context.timeBase, this.#stream.timeBase);
      if (this.#output.interleavedWriteFrameSync(this.#packet) < 0) return false;
    }
    return true;
  }

  [Symbol.dispose](): void {
    this.#packet.free();
    this.frame.free();
    this.context.freeContext();
  }
}

/** FFmpeg's name and options of the encoder of a job. */
function describe(job: VideoJob): { name: string; options: Record<string, string>; hasBitrate: boolean } {
  const { codec, preset, tune, gop, bFrames, openGop } = job;
  if (codec === 'av1') {
    // Low delay (each frame comes out before the next one goes in), with one thread. Faster presets sometimes miss changes in a frame
    // (SVT-AV1 in FFmpeg 8.1).
    const options = { preset: '8', crf: '30', 'svtav1-params': 'pred-struct=1:lookahead=0:scd=0:lp=1' };
    return { name: 'libsvtav1', options, hasBitrate: false };
  }
  const [name, extra] = codec === 'h264' ? ['libx264', ''] : ['libx265', ':log-level=none:pools=none:frame-threads=1'];
  const options = {
    preset,
    ...(tune === undefined ? {} : { tune }),
    'forced-idr': '1',
    [`${name.slice(3)}-params`]: `scenecut=0:keyint=${gop}:min-keyint=1:open-gop=${Number(openGop)}:bframes=${bFrames}${extra}`,
  };
  return { name, options, hasBitrate: true };
}

/** Draws and encodes the video. */
export class VideoEncoder implements Disposable {
  readonly #encoder: Encoder;
  readonly #job: VideoJob;
  readonly #firstPts: number;
  #keyframesAtS: readonly number[];

  /** @param startTimeS timestamp of the first frame, in seconds */
  constructor(output: FormatContext, job: VideoJob, startTimeS: number) {
    this.#job = job;
    this.#keyframesAtS = job.keyframesAtS.toSorted((a, b) => a - b);
    this.#firstPts = Math.round((startTimeS * job.fps.num) / job.fps.den);
    this.#encoder = new Encoder(output);
    const { name, options, hasBitrate } = describe(job);
    this.#encoder.open(name, options, (context) => {
      context.width = job.width;
      context.height = job.height;
      context.pixelFormat = AV_PIX_FMT_YUV420P;
      context.timeBase = new Rational(job.fps.den, job.fps.num);
      context.framerate = new Rational(job.fps.num, job.fps.den);
      context.gopSize = job.gop;
      if (!hasBitrate) return;
      context.maxBFrames = job.bFrames;
      context.bitRate = BigInt(job.bitrateBps);
      context.rcMaxRate = BigInt(job.bitrateBps);
      context.rcBufferSize = job.bitrateBps;
    });
    const { frame } = this.#encoder;
    frame.format = AV_PIX_FMT_YUV420P;
    frame.width = job.width;
    frame.height = job.height;
    FFmpegError.throwIfError(frame.getBuffer(), 'frame memory');
  }

  /** Encodes the frame with this number. Returns false when the output cannot be written any more. */
  encode(code: FrameCode): boolean {
    const { frame } = this.#encoder;
    const mediaS = (code.counter * this.#job.fps.den) / this.#job.fps.num;
    // The encoder may still use the previous frame's memory.
    FFmpegError.throwIfError(frame.makeWritable(), 'frame memory');
    drawPicture(
      {
        width: this.#job.width,
        height: this.#job.height,
        planes: frame.data as unknown as PicturePlanes['planes'],
        lineStrides: frame.linesize as unknown as PicturePlanes['lineStrides'],
      },
      mediaS,
      code,
    );
    frame.pts = BigInt(this.#firstPts + code.counter);
    const forced = this.#keyframesAtS.length > 0 && mediaS >= this.#keyframesAtS[0]!;
    if (forced) this.#keyframesAtS = this.#keyframesAtS.filter((atS) => atS > mediaS);
    frame.pictType = forced ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    return this.#encoder.push(frame);
  }

  finish(): boolean {
    return this.#encoder.push(null);
  }

  [Symbol.dispose](): void {
    this.#encoder[Symbol.dispose]();
  }
}

/** Makes and encodes the audio. */
export class AudioEncoder implements Disposable {
  readonly #encoder: Encoder;
  readonly #job: AudioJob;
  readonly #firstPts: number;
  readonly #mono: Float32Array;
  #samples = 0;

  /** @param startTimeS timestamp of the first sample, in seconds */
  constructor(output: FormatContext, job: AudioJob, startTimeS: number) {
    this.#job = job;
    this.#firstPts = Math.round(startTimeS * job.sampleRate);
    this.#encoder = new Encoder(output);
    const layout: ChannelLayout = {
      nbChannels: job.channels,
      order: AV_CHANNEL_ORDER_NATIVE,
      mask: job.channels === 1 ? 4n : 3n,
    };
    // libopus expects interleaved channels.
    const [name, format] = job.codec === 'aac' ? ['aac', AV_SAMPLE_FMT_FLTP] : ['libopus', AV_SAMPLE_FMT_FLT];
    this.#encoder.open(name, {}, (context) => {
      context.sampleRate = job.sampleRate;
      context.sampleFormat = format;
      context.channelLayout = layout;
      context.timeBase = new Rational(1, job.sampleRate);
      context.bitRate = BigInt(job.bitrateBps);
    });
    const { frame, context } = this.#encoder;
    frame.format = format;
    frame.sampleRate = job.sampleRate;
    frame.channelLayout = layout;
    frame.nbSamples = context.frameSize;
    this.#mono = new Float32Array(context.frameSize);
    FFmpegError.throwIfError(frame.getBuffer(), 'audio memory');
  }

  /** Encodes every block that begins before `mediaS`. Returns false when the output cannot be written any more. */
  encodeUntil(mediaS: number): boolean {
    const { frame } = this.#encoder;
    while (this.#samples < mediaS * this.#job.sampleRate) {
      FFmpegError.throwIfError(frame.makeWritable(), 'audio memory');
      drawAudio(this.#mono, this.#samples, this.#job.sampleRate);
      const interleaved = frame.format === AV_SAMPLE_FMT_FLT ? this.#job.channels : 1;
      for (const plane of frame.data ?? []) {
        const samples = new Float32Array(plane.buffer, plane.byteOffset, frame.nbSamples * interleaved);
        for (const [index, sample] of this.#mono.entries()) {
          samples.fill(sample, index * interleaved, (index + 1) * interleaved);
        }
      }
      frame.pts = BigInt(this.#firstPts + this.#samples);
      this.#samples += frame.nbSamples;
      if (!this.#encoder.push(frame)) return false;
    }
    return true;
  }

  finish(): boolean {
    return this.#encoder.push(null);
  }

  [Symbol.dispose](): void {
    this.#encoder[Symbol.dispose]();
  }
}
