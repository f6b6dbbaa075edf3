/**
 * Reading the files of recordings: the contract, and the implementation for files on this machine.
 */

import { MillraceError } from '#domain/errors.ts';
import type { MediaPath } from '#domain/ids.ts';
import type { MovieFile, MovieRequest } from '#recording/movie-file.ts';
import type { ReadAnswers, ReaderJob, StoredFiles } from './protocol.ts';
import { ReaderThread } from './reader-thread.ts';

/** Reads files of recordings, wherever they are. */
export interface RecordingFileReader {
  /**
   * Reads the index of a recording and its manifest. Undefined when there is no such recording.
   * @param isStored whether the object store is known to have all of it, so that an earlier state of it must not be used
   * @param address the address of the viewer. Networks take turns where an index has to be fetched
   * @throws {MillraceError} `recording_unavailable` when they cannot be read now
   */
  index(path: MediaPath, isStored: boolean, address: string): Promise<ReadAnswers['index']>;
  /**
   * Reads the bytes of a file from `from` to `until`, the end excluded. The result belongs to the caller.
   * @param name the name of the file in the folder of the recording
   * @throws {MillraceError} `recording_unavailable` when they cannot be read now; the signal's reason
   */
  read(path: MediaPath, name: string, from: number, until: number, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Makes the head of an MP4 of a recording. Undefined when there is no frame in the span that the request names.
   * @param address as in {@link index}
   * @throws {MillraceError} `recording_unavailable` when the index cannot be read now
   */
  movie(path: MediaPath, request: MovieRequest, address: string): Promise<MovieFile | undefined>;
}

/**
 * Reads the files of recordings that are on this machine, in two threads. Work on a whole index, which may take a second for a recording
 * of a day, has a thread of its own, so that no viewer's media waits for it.
 */
export class LocalFileReader implements RecordingFileReader, AsyncDisposable {
  readonly #files: ReaderThread;
  readonly #indexes: ReaderThread;

  constructor(job: ReaderJob) {
    this.#files = new ReaderThread('recording-reader', job);
    this.#indexes = new ReaderThread('recording-indexes', job);
  }

  /** Ends the threads. Requests that wait are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#files[Symbol.asyncDispose](), this.#indexes[Symbol.asyncDispose]()]);
  }

  index(path: MediaPath): Promise<ReadAnswers['index']> {
    return this.#indexes.ask({ type: 'index', path });
  }

  async read(path: MediaPath, name: string, from: number, until: number): Promise<Uint8Array> {
    const bytes = await this.#files.ask({ type: 'file', path, name, from, until });
    if (bytes === undefined) throw new MillraceError('recording_unavailable', `The recording has no file ${name} now.`);
    return bytes;
  }

  async movie(path: MediaPath, request: MovieRequest): Promise<MovieFile | undefined> {
    return (await this.storedMovie(path, request, undefined))?.movie;
  }

  /**
   * Makes the head of an MP4 of a recording that may not be on this machine. Undefined when `files` is, too, and the index is neither on
   * this machine nor kept.
   */
  storedMovie(path: MediaPath, request: MovieRequest, files: StoredFiles): Promise<ReadAnswers['movie']> {
    return this.#indexes.ask({ type: 'movie', path, movie: request, files });
  }

  /** Returns the index of a recording that is not on this machine. Undefined when `files` is undefined and the index was not kept. */
  parse(path: MediaPath, files: StoredFiles): Promise<ReadAnswers['parse']> {
    return this.#indexes.ask({ type: 'parse', path, files });
  }
}
