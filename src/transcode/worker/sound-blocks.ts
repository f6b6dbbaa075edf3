/**
 * Cuts sound into blocks of one size, as an encoder wants it, and keeps its time. Pure.
 */

/** Sound of one moment: samples of each channel, -1..1, all of one length. */
export type Planes = readonly Float32Array[];

/** A hole up to this long becomes silence: lost packets, or an encoder that sends nothing while nothing is to be heard. */
const MAX_SILENCE_S = 1;

/** What blocks are made with. */
export interface SoundBlocksOptions {
  readonly channels: number;
  readonly sampleRate: number;
  /** Samples in a block. */
  readonly blockSamples: number;
  /** Where blocks of somebody else ended, which these are to continue. */
  readonly continuesAt?: number | undefined;
  /** A block, only lent; blocks follow one another without a hole until {@link SoundBlocks.finish}. */
  readonly onBlock: (planes: Planes, pts: number) => void;
  /** What comes does not continue what came: follows {@link SoundBlocks.finish} of it. */
  readonly onBreak: () => void;
}

/** Gathers sound of any lengths into blocks. Times are in samples. */
export class SoundBlocks {
  readonly #options: SoundBlocksOptions;
  readonly #block: Planes;
  readonly #silence: Planes;
  /** Samples in the growing block. */
  #filled = 0;
  /** Where the next sample belongs; undefined before the first. */
  #next: number | undefined;

  constructor(options: SoundBlocksOptions) {
    this.#options = options;
    const { channels, blockSamples, continuesAt } = options;
    this.#next = continuesAt;
    this.#block = Array.from({ length: channels }, () => new Float32Array(blockSamples));
    this.#silence = Array.from({ length: channels }, () => new Float32Array(blockSamples));
  }

  /** Takes the next sound. What overlaps the one before is put behind it. */
  push(planes: Planes, pts: number): void {
    const hole = this.#next === undefined ? 0 : pts - this.#next;
    if (hole > MAX_SILENCE_S * this.#options.sampleRate) {
      this.finish();
      this.#options.onBreak();
    } else if (hole > 0) {
      this.#silenceFor(hole);
    }
    this.#next ??= pts;
    this.#append(planes);
  }

  /** Fills the growing block up with silence and hands it on. What follows may begin anywhere. */
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
