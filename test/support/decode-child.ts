/** The child process of {@link file://./decode.ts}, which loads FFmpeg. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { AV_LOG_WARNING, AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_VIDEO } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, FormatContext, Frame, Log, Packet, type Stream } from 'node-av/lib';
import type { Decoded, DecodedAudio, DecodedFrame } from './decode.ts';
import { readFrameCode } from './frame-code.ts';
import { findBeeps } from './test-pattern.ts';

/** What the child answers. */
export type DecodeReply = { readonly decoded: Decoded } | { readonly error: string };

/** Files are decoded one after the other, so that FFmpeg's messages belong to the right one. */
let last = Promise.resolve();
process.on('message', (bytes: Uint8Array) => {
  last = last.then(() => answer(bytes));
});

async function answer(bytes: Uint8Array): Promise<void> {
  const complaints: string[] = [];
  Log.setCallback((_level, message) => void complaints.push(message.trim()), { maxLevel: AV_LOG_WARNING });
  const folder = mkdtempSync(join(tmpdir(), 'millrace-decode-'));
  try {
    writeFileSync(join(folder, 'media'), bytes);
    const decoded = await decodeFile(join(folder, 'media'));
    // FFmpeg's log lines come through the event loop.
    await turn();
    process.send?.({ decoded: { ...decoded, complaints } });
  } catch (error) {
    process.send?.({ error: [String(error), ...complaints].join('\n') });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function decodeFile(path: string): Promise<Pick<Decoded, 'frames' | 'audio'>> {
  await using input = new FormatContext();
  FFmpegError.throwIfError(input.openInputSync(path), 'open');
  FFmpegError.throwIfError(input.findStreamInfoSync(), 'find streams');
  const video = new VideoCollector();
  const audio = new AudioCollector();
  using stack = new DisposableStack();
  const decoders = input.streams.map((stream) => {
    const collector = { [AVMEDIA_TYPE_VIDEO]: video, [AVMEDIA_TYPE_AUDIO]: audio }[stream.codecpar.codecType];
    return collector && stack.use(new Decoder(stream, (frame) => collector.take(frame, stream)));
  });
  const packet = stack.adopt(new Packet(), (each) => each.free());
  packet.alloc();
  while (input.readFrameSync(packet) >= 0) {
    decoders[packet.streamIndex]?.decode(packet);
    packet.unref();
  }
  for (const decoder of decoders) decoder?.decode(null);
  return { frames: video.frames, audio: audio.decoded() };
}

/** Decodes one stream. */
class Decoder implements Disposable {
  readonly #context = new CodecContext();
  readonly #frame = new Frame();
  readonly #take: (frame: Frame) => void;

  constructor(stream: Stream, take: (frame: Frame) => void) {
    this.#take = take;
    const codec = Codec.findDecoder(stream.codecpar.codecId);
    this.#context.allocContext3(codec);
    FFmpegError.throwIfError(this.#context.parametersToContext(stream.codecpar), 'decoder parameters');
    this.#context.pktTimebase = stream.timeBase;
    FFmpegError.throwIfError(this.#context.open2Sync(codec), 'open decoder');
    this.#frame.alloc();
  }

  /**
   * Decodes a packet, or, with null, returns the frames that the decoder still holds. A damaged packet leads to a complaint and a missing
   * frame.
   */
  decode(packet: Packet | null): void {
    this.#context.sendPacketSync(packet);
    while (this.#context.receiveFrameSync(this.#frame) >= 0) {
      this.#take(this.#frame);
      this.#frame.unref();
    }
  }

  [Symbol.dispose](): void {
    this.#frame.free();
    this.#context.freeContext();
  }
}

const seconds = (pts: bigint, { timeBase }: Stream) => (Number(pts) * timeBase.num) / timeBase.den;

class VideoCollector {
  readonly frames: DecodedFrame[] = [];

  take(frame: Frame, stream: Stream): void {
    const { width, height } = frame;
    const pixels = { data: frame.data![0]!, width, lineStride: frame.linesize[0]!, pixelStride: 1 };
    this.frames.push({
      ptsS: seconds(frame.bestEffortTimestamp, stream),
      keyframe: frame.keyFrame === 1,
      width,
      height,
      code: readFrameCode(pixels),
    });
  }
}

class AudioCollector {
  readonly #blocks: Float32Array[] = [];
  #format: { startS: number; sampleRate: number; channels: number } | undefined;
  #endS = 0;

  take(frame: Frame, stream: Stream): void {
    const { sampleRate, nbSamples } = frame;
    const ptsS = seconds(frame.bestEffortTimestamp, stream);
    this.#format ??= { startS: ptsS, sampleRate, channels: frame.channels };
    this.#endS = ptsS + nbSamples / sampleRate;
    // The first channel is enough. Missing samples are replaced by silence, because the beeps after them would be at the wrong times.
    const plane = frame.data![0]!;
    const gap = Math.round((ptsS - this.#format.startS) * sampleRate) - this.#sampleCount();
    if (gap > 1) this.#blocks.push(new Float32Array(gap));
    this.#blocks.push(new Float32Array(plane.buffer, plane.byteOffset, nbSamples).slice());
  }

  decoded(): DecodedAudio | undefined {
    if (this.#format === undefined) return undefined;
    const { startS, sampleRate } = this.#format;
    const samples = new Float32Array(this.#sampleCount());
    let at = 0;
    for (const block of this.#blocks) {
      samples.set(block, at);
      at += block.length;
    }
    const beepsS = findBeeps(samples, sampleRate).map((sample) => startS + sample / sampleRate);
    return { ...this.#format, endS: this.#endS, beepsS };
  }

  #sampleCount(): number {
    return this.#blocks.reduce((sum, block) => sum + block.length, 0);
  }
}
