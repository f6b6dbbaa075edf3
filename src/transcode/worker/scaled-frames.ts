/**
 * One frame of the video in all sizes to which it has been scaled.
 */
import type { Frame } from 'node-av/lib';
import type { Size } from '#transcode/size.ts';
import { isHighRange, ToneMapper } from './tone-mapper.ts';

/**
 * Holds the present frame in all its sizes. Its tones are mapped once for all of them, and only if somebody uses the frame. All frames are
 * mapped in one size, whichever rendition needs them first, because preparing the mapping for another size takes seconds.
 */
export class ScaledFrames implements Disposable {
  readonly #toneMapper: ToneMapper;
  /** The decoded frame, or its version in standard range, and then the scaled frames. Each of these was made from the one before it. */
  #frames: [Frame, ...Frame[]] | undefined;

  /**
   * @param size the size of mapped frames: that of the largest frame that is needed
   * @param onPrepare called before seconds of CPU time are used in one call
   */
  constructor(size: Size, onPrepare: () => void) {
    this.#toneMapper = new ToneMapper(size, onPrepare);
  }

  /** Begins with a new decoded frame, and forgets all earlier frames. */
  begin(decoded: Frame): void {
    this.#frames = [decoded];
  }

  /** Adds a smaller frame, made from {@link smallest}. */
  add(scaled: Frame): void {
    this.#frames?.push(scaled);
  }

  /** The smallest frame so far, in standard range. */
  get smallest(): Frame {
    return this.#inStandardRange().at(-1)!;
  }

  /** The smallest frame so far, in whatever range it is. */
  get smallestAsItIs(): Frame {
    return this.#present.at(-1)!;
  }

  /** The smallest frame that has at least this width, or else the largest there is, in standard range. */
  ofWidth(width: number): Frame {
    const frames = this.#inStandardRange();
    return frames.findLast((frame) => frame.width >= width) ?? frames[0];
  }

  [Symbol.dispose](): void {
    this.#toneMapper[Symbol.dispose]();
  }

  get #present(): [Frame, ...Frame[]] {
    if (this.#frames === undefined) throw new Error('There is no frame yet.');
    return this.#frames;
  }

  #inStandardRange(): readonly [Frame, ...Frame[]] {
    const frames = this.#present;
    if (isHighRange(frames[0])) frames[0] = this.#toneMapper.map(frames[0]);
    return frames;
  }
}
