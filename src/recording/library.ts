/**
 * The library: finds recordings, and keeps those open that were used last.
 */
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { MediaPath } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { within } from '#lib/within.ts';
import { OpenRecording, type Shelf } from './open-recording.ts';
import type { RecordingFileReader } from './reader/reader.ts';
import type { FileRecorders } from './recorders.ts';
import type { Excerpt, Library } from './recording.ts';
import { RecordingIndex } from './recording-index.ts';
import { type MakeStill, Stills } from './stills.ts';
import { VirtualMp4s } from './virtual-mp4.ts';

/** The most memory that open recordings take together: 90 of two hours with two renditions. Those that were used last stay open. */
const MAX_OPEN_BYTES = 128 * 1024 * 1024;
/** How long an answer about the length of an excerpt waits for the index. */
const INDEX_WITHIN_MS = 3000;

/** The options of a library. */
export interface RecordingLibraryOptions {
  readonly reader: RecordingFileReader;
  readonly recorders: Pick<FileRecorders, 'running'>;
  readonly makeStill: MakeStill;
}

/** Finds the recordings that this process records or that its reader can read, and keeps those open that were used last. */
export class RecordingLibrary implements Library {
  readonly #options: RecordingLibraryOptions;
  readonly #shelf: Shelf;
  readonly #open = new LRUCache<MediaPath, OpenRecording>({
    maxSize: MAX_OPEN_BYTES,
    // A recording counts as at most half of what all may take, so that even the longest one is kept.
    sizeCalculation: ({ memoryBytes }) => Math.min(MAX_OPEN_BYTES / 2, memoryBytes),
  });
  /** Recordings that are being opened, so that all who ask for the same one wait together. */
  readonly #opening = new Map<MediaPath, Promise<OpenRecording | undefined>>();

  constructor(options: RecordingLibraryOptions) {
    this.#options = options;
    this.#shelf = { reader: options.reader, movies: new VirtualMp4s(), stills: new Stills(options.makeStill) };
  }

  async open(path: MediaPath, isStored = false, address = ''): Promise<OpenRecording | undefined> {
    const known = this.#open.get(path);
    const recorder = this.#options.recorders.running(path);
    if (known !== undefined && (known.hasEnded || (recorder !== undefined && known.isOf(recorder)))) {
      return this.#keep(path, known);
    }
    if (recorder !== undefined) {
      await recorder.opened;
      const { epoch, targetDurationS } = recorder.request;
      const source = { epoch, targetDurationS, recording: recorder, mayGrow: true };
      return this.#keep(path, new OpenRecording(path, source, this.#shelf));
    }
    const opening = this.#opening.get(path) ?? this.#load(path, isStored, address);
    this.#opening.set(path, opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(path);
    }
  }

  /**
   * Seconds of media in an excerpt, pauses excluded. Undefined when the index of the recording cannot be read now, and when that takes
   * longer than a few seconds.
   * @param isStored as in {@link open}
   */
  async secondsIn(path: MediaPath, isStored: boolean, excerpt: Excerpt): Promise<number | undefined> {
    const opening = this.open(path, isStored).catch((error: unknown) => {
      if (!(error instanceof MillraceError)) throw error;
      return undefined;
    });
    if (!(await within(INDEX_WITHIN_MS, opening))) return undefined;
    return (await opening)?.secondsIn(excerpt);
  }

  /** Closes a recording whose bytes are about to be deleted. */
  close(path: MediaPath): void {
    this.#open.delete(path);
  }

  async #load(path: MediaPath, isStored: boolean, address: string): Promise<OpenRecording | undefined> {
    const found = await this.#options.reader.index(path, isStored, address);
    if (found === undefined) return undefined;
    const { epoch, targetDurationS } = found.manifest;
    const recording = { index: new RecordingIndex(found.index) };
    const source = { epoch: ms(epoch), targetDurationS, recording, mayGrow: false };
    return this.#keep(path, new OpenRecording(path, source, this.#shelf));
  }

  #keep(path: MediaPath, opened: OpenRecording): OpenRecording {
    // It is set anew, so that its present size counts.
    this.#open.delete(path);
    this.#open.set(path, opened);
    return opened;
  }
}
