/**
 * The init segments of one rendition: one for each configuration, each under a name of its own.
 */
import { initSegment } from '#media/mp4/init-segment.ts';
import type { Track } from '#media/track.ts';
import type { MediaResource, Packaged } from './hls.ts';

/** Where init segments are put to be fetched. */
export interface InitSegmentOutput {
  /** Makes a resource fetchable. A name is never given twice. */
  store(name: string, resource: MediaResource): void;
  /** Takes back an init segment that no segment uses. */
  discard(name: string): void;
  /** Tells what was packaged. */
  packaged(packaged: Packaged): void;
}

/** An init segment that was made. */
type Init = Extract<Packaged, { type: 'init' }>;

/** Names and stores init segments. A name is never used for two configurations, for players and caches keep what they have. */
export class InitSegments {
  readonly #output: InitSegmentOutput;
  /** Number in the name given last. */
  #number = -1;
  #current: Init | undefined;
  #next: Init | undefined;

  constructor(output: InitSegmentOutput) {
    this.#output = output;
  }

  /** Name of the init segment that segments use now. */
  get current(): string | undefined {
    return this.#current?.name;
  }

  /** Name of the init segment that segments will use. */
  get next(): string | undefined {
    return this.#next?.name;
  }

  /** Both of them, as far as they exist. */
  get made(): readonly Init[] {
    return [this.#current, this.#next].filter((init) => init !== undefined);
  }

  /** Returns the name of the init segment that segments use now, and makes it when there is none. */
  use(track: Track, msn: number): string {
    this.#current ??= this.#make(track, msn);
    return this.#current.name;
  }

  /** Makes the init segment of a configuration to come; it can be fetched at once. @param msn of the first segment to use it */
  prepare(track: Track, msn: number): void {
    this.drop();
    this.#next = this.#make(track, msn);
  }

  /** The configuration to come is not coming. */
  drop(): void {
    if (this.#next !== undefined) this.#output.discard(this.#next.name);
    this.#next = undefined;
  }

  /** The configuration has come. */
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
