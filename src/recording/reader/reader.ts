/**
 * Where the files of recordings are read from.
 */

import { MillraceError } from '#domain/errors.ts';
import type { MediaPath } from '#domain/ids.ts';
import type { MovieFile, MovieRequest } from '#recording/movie-file.ts';
import type { IndexData } from '#recording/recording-index.ts';
import type { ReadAnswers } from './protocol.ts';
import type { ReaderThread } from './reader-thread.ts';

/** Reads files of recordings, wherever they are. */
export interface RecordingFileReader {
  /** The index of a recording. Undefined when there is no such recording. */
  index(path: MediaPath): Promise<ReadAnswers['index']>;
  /**
   * Reads a span of a file, the end excluded.
   * @throws {MillraceError} `recording_unavailable` when that is not possible now
   */
  read(path: MediaPath, name: string, from: number, until: number, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Makes the head of an MP4 of a recording. Undefined when there is nothing to show.
   * @throws {MillraceError} `recording_unavailable` when that is not possible now
   */
  movie(path: MediaPath, request: MovieRequest): Promise<MovieFile | undefined>;
}

/** Reads what is on this machine. */
export class LocalFileReader implements RecordingFileReader {
  readonly #thread: ReaderThread;

  constructor(thread: ReaderThread) {
    this.#thread = thread;
  }

  index(path: MediaPath): Promise<ReadAnswers['index']> {
    return this.#thread.ask({ type: 'index', path });
  }

  async read(path: MediaPath, name: string, from: number, until: number): Promise<Uint8Array> {
    const bytes = await this.#thread.ask({ type: 'file', path, name, from, until });
    if (bytes === undefined) throw new MillraceError('recording_unavailable', `The recording has no file ${name} now.`);
    return bytes;
  }

  /** @param files the index of a recording that is not on this machine */
  movie(path: MediaPath, request: MovieRequest, files?: readonly Uint8Array[]): Promise<MovieFile | undefined> {
    return this.#thread.ask({ type: 'movie', path, movie: request, files });
  }

  /** Reads the index of a recording that is not on this machine. */
  parse(path: MediaPath, files: readonly Uint8Array[]): Promise<IndexData> {
    return this.#thread.ask({ type: 'parse', path, files });
  }
}
