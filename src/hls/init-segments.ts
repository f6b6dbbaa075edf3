/**
 * The init segments of one rendition: one for each configuration, each with a name of its own.
 */
import { initSegment } from '#media/mp4/init-segment.ts';
import type { Track } from '#media/track.ts';
import type { MediaResource, Packaged } from './hls.ts';

/** The output for init segments. */
export interface InitSegmentOutput {
  /** Makes a resource fetchable. Each name is stored once. */
  store(name: string, resource: MediaResource): void;
  /** Discards an init segment that no segment uses. */
  discard(name: string): void;
  /** Called with what was packaged. */
  packaged(packaged: Packaged): void;
}

/** An init segment that was made. */
type Init = Extract<Packaged, { type: 'init' }>;

/** Names and stores init segments. A name is never used for two configurations, because players and caches keep what they have. */
export class InitSegments {
  readonly #output: InitSegmentOutput;
  /** The number in the last name. */
  #number = -1;
  #current: Init | undefined;
  #next: Init | undefined;

  constructor(output: InitSegmentOutput) {
    this.#output = output;
  }

  /** The name of the init segment that segments use now. */
  get current(): string | undefined {
    return this.#current?.name;
  }

  /** The init segment of the coming configuration, which later segments will use. Undefined when none is coming. */
  get next(): Init | undefined {
    return this.#next;
  }

  /** Both init segments, if they exist. */
  get made(): readonly Init[] {
    return [this.#current, this.#next].filter((init) => init !== undefined);
  }

  /** Returns the name of the init segment that segments use now, and makes it when there is none. */
  use(track: Track, msn: number): string {
    this.#current ??= this.#make(track, msn);
    return this.#current.name;
  }

  /**
   * Makes the init segment of a coming configuration. It can be fetched at once.
   * @param msn the media sequence number of the first segment that uses it
   */
  prepare(track: Track, msn: number): void {
    this.drop();
    this.#next = this.#make(track, msn);
  }

  /** Discards the coming configuration, which is not needed. */
  drop(): void {
    if (this.#next !== undefined) this.#output.discard(this.#next.name);
    this.#next = undefined;
  }

  /** Makes the coming configuration the current one. */
  adopt(): void {
    this.#current = this.#next;
    this.#next = undefined;
  }

  #make(track: Track, msn: number): Init {
    this.#number = Math.max(msn, this.#number + 1);
    const init: Init = { type: 'init', name: `init-${this.#number}.mp4`, track, bytes: initSegment(track) };
    const { bytes } = init;
    this.#output.store(init.name, { pieces: [bytes], sizeBytes: bytes.length, contentType: `${track.kind}/mp4` });
    this.#output.packaged(init);
    return init;
  }
}
