/**
 * The whole audio work of a transcoder, from packets to AAC: decodes, divides into blocks, encodes.
 */
import type { AudioPacket, AudioSourceDescription } from '#transcode/worker-messages.ts';
import { AudioBlocks, type Planes } from './audio-blocks.ts';
import { AudioDecoder, outputChannels } from './audio-decoder.ts';
import { AudioEncoder, BLOCK_SAMPLES } from './audio-encoder.ts';
import { isFfmpegRefusal } from './av.ts';

/** The receivers of the AAC. */
export interface AudioOutput {
  /** Called when an encoder was opened, before its first packet. */
  onConfig(config: Uint8Array): void;
  /** Called with a packet. Times are in samples, as in the source. */
  onPacket(packet: AudioPacket): void;
  /** Called when audio of the source is missing after the newest packet: more than becomes silence, or a block that the encoder refused. */
  onMissing(): void;
}

/** The format of the encoded audio. */
interface AudioFormat {
  readonly channels: 1 | 2;
  readonly sampleRate: number;
}

/** The audio of one source at a time. All work is done inside the calls. */
export class AudioTranscoder implements Disposable {
  readonly #output: AudioOutput;
  #decoder: AudioDecoder | undefined;
  #encoder: AudioEncoder | undefined;
  #blocks: AudioBlocks | undefined;
  #decodeErrors = 0;
  #encodeErrors = 0;

  constructor(output: AudioOutput) {
    this.#output = output;
  }

  /** The number of packets that could not be decoded. */
  get decodeErrors(): number {
    return this.#decodeErrors;
  }

  /** The number of blocks that could not be encoded. */
  get encodeErrors(): number {
    return this.#encodeErrors;
  }

  /** Begins or changes the source. Audio still held of the previous one is handed out. */
  setSource(source: AudioSourceDescription): void {
    this[Symbol.dispose]();
    const { sampleRate, continuesAt } = source;
    const channels = outputChannels(source);
    const blocks = new AudioBlocks({
      channels,
      sampleRate,
      blockSamples: BLOCK_SAMPLES,
      continuesAt,
      onBlock: (planes, pts) => this.#encode(planes, pts, { channels, sampleRate }),
      onBreak: () => this.#finishEncoder(),
    });
    this.#blocks = blocks;
    try {
      this.#decoder = new AudioDecoder(source, (planes, pts) => blocks.push(planes, pts));
    } catch {
      // A hostile header must not end the video. Every packet after it counts as broken.
    }
  }

  /** Takes the next packet. */
  write(packet: AudioPacket): void {
    if (this.#decoder?.decode(packet) === true) return;
    this.#decodeErrors += 1;
    if (this.#blocks?.passTo(packet.pts) === true) this.#output.onMissing();
  }

  /** Encodes everything that is held, because nothing follows for now. Work continues with any packet. */
  finish(): void {
    this.#blocks?.finish();
    this.#finishEncoder();
  }

  [Symbol.dispose](): void {
    this.finish();
    this.#decoder?.[Symbol.dispose]();
    this.#decoder = undefined;
  }

  /** Encodes a block. If the encoder refuses it, the video must go on, so the block is left out, and the next one gets a new encoder. */
  #encode(planes: Planes, pts: number, format: AudioFormat): void {
    try {
      this.#encoder ??= this.#open(format);
      this.#encoder.encode(planes, pts);
    } catch (error) {
      if (!isFfmpegRefusal(error)) throw error;
      this.#encodeErrors += 1;
      this.#finishEncoder();
      this.#output.onMissing();
    }
  }

  #open(format: AudioFormat): AudioEncoder {
    const encoder = new AudioEncoder(format, (packet) => this.#output.onPacket(packet));
    this.#output.onConfig(encoder.config);
    return encoder;
  }

  #finishEncoder(): void {
    this.#encoder?.finish();
    this.#encoder?.[Symbol.dispose]();
    this.#encoder = undefined;
  }
}
