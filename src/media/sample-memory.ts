/**
 * The memory of the samples of one track: slabs, in which samples lie one after another.
 *
 * A part is made of views of such a slab, without copying, because its samples are next to each other there. V8 collects garbage more often
 * the more memory is allocated outside its heap, so each byte is allocated there once, and not again for each message and each part.
 */

/**
 * The most bytes of a slab: some seconds of audio, and a second of video at a usual bitrate. A single part keeps its whole slab alive, so a
 * larger slab would keep more memory.
 */
const MAX_SLAB_BYTES = { audio: 32 * 1024, video: 256 * 1024 } as const;
/**
 * The fewest bytes of a slab. Above that, a slab is no larger than all samples before it together, so a track usually takes at most twice
 * its bytes. It can take more, because the end of a slab stays unused where the next sample does not fit. If all slabs had the full size
 * from the start, thousands of short sessions would take twenty times the memory that they are charged for, in pieces that malloc cannot
 * give back.
 */
const MIN_SLAB_BYTES = 4096;

/** Copies samples into slabs. The bytes of a sample never change after that, and its slab lives for as long as one of its samples is used. */
export class SampleMemory {
  readonly #maxSlabBytes: number;
  /** The bytes of all samples so far. */
  #keptBytes = 0;
  #slab: Buffer = Buffer.alloc(0);
  #used = 0;

  constructor(kind: keyof typeof MAX_SLAB_BYTES) {
    this.#maxSlabBytes = MAX_SLAB_BYTES[kind];
  }

  /** Copies a sample to the end of the previous one, or into a new slab where it does not fit. @returns the copy */
  keep(sample: Uint8Array): Uint8Array {
    const { length } = sample;
    if (length > this.#slab.length - this.#used) {
      const slabBytes = Math.max(MIN_SLAB_BYTES, Math.min(this.#keptBytes, this.#maxSlabBytes));
      this.#slab = Buffer.allocUnsafeSlow(Math.max(length, slabBytes));
      this.#used = 0;
    }
    this.#keptBytes += length;
    const start = this.#used;
    this.#used += length;
    this.#slab.set(sample, start);
    return this.#slab.subarray(start, this.#used);
  }
}

/**
 * Joins samples that are next to each other in memory.
 * @returns views of the same bytes in the same order, as few as possible
 */
export function adjoining(samples: readonly { readonly data: Uint8Array }[]): readonly Uint8Array[] {
  const runs: Uint8Array[] = [];
  let start: Uint8Array | undefined;
  let length = 0;
  const close = () => {
    if (start !== undefined) runs.push(new Uint8Array(start.buffer, start.byteOffset, length));
  };
  for (const { data } of samples) {
    if (start !== undefined && data.buffer === start.buffer && data.byteOffset === start.byteOffset + length) {
      length += data.length;
      continue;
    }
    close();
    start = data;
    length = data.length;
  }
  close();
  return runs;
}
