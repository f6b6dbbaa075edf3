/**
 * Divides audio into blocks of one size, as an encoder needs it, and keeps its times. Pure.
 */

/** Samples of each channel, -1 to 1, all of the same length. */
export type Planes = readonly Float32Array[];

/** A hole of up to this length becomes silence. It comes from lost packets, or from an encoder that sends nothing during silence. */
const MAX_SILENCE_S = 1;

/** The options of {@link AudioBlocks}. */
export interface AudioBlocksOptions {
  readonly channels: number;
  readonly sampleRate: number;
  /** The number of samples in a block. */
  readonly blockSamples: number;
  /** The end of an earlier worker's blocks, which these continue. */
  readonly continuesAt?: number | undefined;
  /**
   * Called with a block, which may be used only during the call. Blocks follow one another without a hole until {@link AudioBlocks.finish}.
   */
  readonly onBlock: (planes: Planes, pts: number) => void;
  /** Called when the following audio does not continue the previous one, after {@link AudioBlocks.finish} for that. */
  readonly onBreak: () => void;
}

/** Collects audio of any lengths into blocks. Times are in samples. */
export class AudioBlocks {
  readonly #options: AudioBlocksOptions;
  readonly #block: Planes;
  readonly #silence: Planes;
  /** The number of samples in the growing block. */
  #filled = 0;
  /** The position of the next sample. Undefined before the first. */
  #next: number | undefined;

  constructor(options: AudioBlocksOptions) {
    this.#options = options;
    const { channels, blockSamples, continuesAt } = options;
    this.#next = continuesAt;
    this.#block = Array.from({ length: channels }, () => new Float32Array(blockSamples));
    this.#silence = Array.from({ length: channels }, () => new Float32Array(blockSamples));
  }

  /** Takes the next audio. Samples that overlap the previous ones are appended to them. */
  push(planes: Planes, pts: number): void {
    this.passTo(pts);
    this.#next ??= pts;
    if (pts > this.#next) this.#silenceFor(pts - this.#next);
    this.#append(planes);
  }

  /**
   * Notes that nothing follows before a time. A hole that is too long for silence is then known before the audio that ends it comes.
   * @returns whether the hole has become too long for silence with this call
   */
  passTo(pts: number): boolean {
    if (this.#next === undefined || pts - this.#next <= MAX_SILENCE_S * this.#options.sampleRate) return false;
    this.finish();
    this.#options.onBreak();
    return true;
  }

  /** Fills the growing block with silence and hands it out. The following audio may begin anywhere. */
  finish(): void {
    if (this.#filled > 0) this.#silenceFor(this.#options.blockSamples - this.#filled);
    this.#next = undefined;
  }

  #silenceFor(samples: number): void {
    for (let left = samples; left > 0; left -= this.#options.blockSamples) {
      const part = Math.min(left, this.#options.blockSamples);
      this.#append(this.#silence.map((plane) => plane.subarray(0, part)));
    }
  }

  #append(planes: Planes): void {
    const { blockSamples, onBlock } = this.#options;
    const length = planes[0]?.length ?? 0;
    for (let at = 0; at < length; ) {
      const count = Math.min(length - at, blockSamples - this.#filled);
      for (const [channel, plane] of this.#block.entries()) {
        plane.set(planes[channel]!.subarray(at, at + count), this.#filled);
      }
      at += count;
      this.#filled += count;
      this.#next = (this.#next ?? 0) + count;
      if (this.#filled < blockSamples) continue;
      this.#filled = 0;
      onBlock(this.#block, this.#next - blockSamples);
    }
  }
}
