/**
 * The memory of the samples of one track: slabs, in which samples lie one after another.
 *
 * A part is made of views of such a slab, without copying, because its samples are next to each other there. V8 collects garbage more often
 * the more memory is allocated outside its heap, so each byte is allocated there once, and not again for each message and each part.
 */

/** The bytes of a slab: some seconds of audio, and a second of video at a usual bitrate. A larger one would keep more alive for one part. */
const SLAB_BYTES = { audio: 32 * 1024, video: 256 * 1024 } as const;

/** Copies samples into slabs. The bytes of a sample never change after that, and its slab lives for as long as one of its samples is used. */
export class SampleMemory {
  readonly #slabBytes: number;
  #slab: Buffer = Buffer.alloc(0);
  #used = 0;

  constructor(kind: keyof typeof SLAB_BYTES) {
    this.#slabBytes = SLAB_BYTES[kind];
  }

  /** Copies a sample to the end of the previous one, or into a new slab where it does not fit. @returns the copy */
  keep(sample: Uint8Array): Uint8Array {
    const { length } = sample;
    if (length > this.#slab.length - this.#used) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(length, this.#slabBytes));
      this.#used = 0;
    }
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
