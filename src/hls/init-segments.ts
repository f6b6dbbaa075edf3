/**
 * The init segments of one rendition: one for each configuration, each under a name of its own.
 */
import { initSegment } from '#media/mp4/init-segment.ts';
import type { Track } from '#media/track.ts';
import type { MediaResource } from './hls.ts';

/** Where init segments are put to be fetched. */
export interface InitSegmentOutput {
  store(name: string, resource: MediaResource): void;
  /** Takes back one that no segment uses. */
  discard(name: string): void;
}

/** Names and stores init segments. A name is never used for two configurations, for players and caches keep what they have. */
export class InitSegments {
  readonly #output: InitSegmentOutput;
  /** Number in the name given last. */
  #number = -1;
  #current: string | undefined;
  #next: string | undefined;

  constructor(output: InitSegmentOutput) {
    this.#output = output;
  }

  /** Name of the one that segments use now. */
  get current(): string | undefined {
    return this.#current;
  }

  /** Name of the one that segments will use. */
  get next(): string | undefined {
    return this.#next;
  }

  /** The one that segments use now, made when there is none. */
  use(track: Track, msn: number): string {
    this.#current ??= this.#store(track, msn);
    return this.#current;
  }

  /** Makes the one for a configuration to come; it can be fetched at once. @param msn of the first segment to use it */
  prepare(track: Track, msn: number): void {
    this.drop();
    this.#next = this.#store(track, msn);
  }

  /** The configuration to come is not coming. */
  drop(): void {
    if (this.#next !== undefined) this.#output.discard(this.#next);
    this.#next = undefined;
  }

  /** The configuration has come. */
  adopt(): void {
    this.#current = this.#next;
    this.#next = undefined;
  }

  #store(track: Track, msn: number): string {
    this.#number = Math.max(msn, this.#number + 1);
    const name = `init-${this.#number}.mp4`;
    const bytes = initSegment(track);
    this.#output.store(name, { pieces: [bytes], sizeBytes: bytes.length, contentType: `${track.kind}/mp4` });
    return name;
  }
}
