/**
 * The whole of what is done to sound, packets in and AAC out: decode, cut into blocks, encode.
 */
import type { AudioPacket, AudioSourceDescription } from '#transcode/worker-messages.ts';
import { AudioDecoder, outputChannels } from './audio-decoder.ts';
import { AudioEncoder, BLOCK_SAMPLES } from './audio-encoder.ts';
import { SoundBlocks } from './sound-blocks.ts';

/** Where AAC goes. */
export interface SoundOutput {
  /** An encoder was opened; called before its first packet. */
  onConfig(config: Uint8Array): void;
  /** Times in samples, those of the source. */
  onPacket(packet: AudioPacket): void;
}

/** The sound of one source at a time. Everything happens inside the calls. */
export class Sound implements Disposable {
  readonly #output: SoundOutput;
  #decoder: AudioDecoder | undefined;
  #encoder: AudioEncoder | undefined;
  #blocks: SoundBlocks | undefined;
  #errors = 0;

  constructor(output: SoundOutput) {
    this.#output = output;
  }

  /** Packets that could not be decoded. */
  get decodeErrors(): number {
    return this.#errors;
  }

  /** The sound begins, or goes on in another way; what is held of the one before is handed out. */
  setSource(source: AudioSourceDescription): void {
    this[Symbol.dispose]();
    const { sampleRate, continuesAt } = source;
    const channels = outputChannels(source);
    const blocks = new SoundBlocks({
      channels,
      sampleRate,
      blockSamples: BLOCK_SAMPLES,
      continuesAt,
      onBlock: (planes, pts) => {
        this.#encoder ??= this.#open({ channels, sampleRate });
        this.#encoder.encode(planes, pts);
      },
      onBreak: () => this.#finishEncoder(),
    });
    this.#blocks = blocks;
    try {
      this.#decoder = new AudioDecoder(source, (planes, pts) => blocks.push(planes, pts));
    } catch {
      // A stranger's header must not take the pictures along: every packet of it counts as broken.
    }
  }

  /** The next packet. */
  write(packet: AudioPacket): void {
    if (this.#decoder?.decode(packet) !== true) this.#errors += 1;
  }

  /** Nothing follows for now: everything held is encoded. Goes on with any packet. */
  finish(): void {
    this.#blocks?.finish();
    this.#finishEncoder();
  }

  [Symbol.dispose](): void {
    this.finish();
    this.#decoder?.[Symbol.dispose]();
    this.#decoder = undefined;
  }

  #open(format: { channels: 1 | 2; sampleRate: number }): AudioEncoder {
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
