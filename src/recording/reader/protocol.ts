/**
 * The messages between the main thread and the reader thread.
 */
import type { MovieFile, MovieRequest } from '#recording/movie-file.ts';
import type { IndexData } from '#recording/recording-index.ts';
import type { Manifest } from '#recording/writer/protocol.ts';

/** The data with which the reader thread is started. */
export interface ReaderJob {
  /** The folder of all recordings. */
  readonly folder: string;
}

/** A request to the reader thread. Paths of recordings are relative to {@link ReaderJob.folder}. */
export type ReadRequest =
  /** The index of a recording, which may still be running. */
  | { readonly type: 'index'; readonly path: string }
  /** The index of a recording that is not on this machine. */
  | { readonly type: 'parse'; readonly path: string; readonly files: StoredFiles }
  /** A span of a file of a recording, the end excluded. */
  | {
      readonly type: 'file';
      readonly path: string;
      readonly name: string;
      readonly from: number;
      readonly until: number;
    }
  /** The head of an MP4. */
  | {
      readonly type: 'movie';
      readonly path: string;
      readonly files: StoredFiles;
      readonly movie: MovieRequest;
    };

/**
 * The index files of a recording in the bucket, in order, which are handed over to the thread. When the recording has ended, the thread
 * keeps them for a while. Undefined means that the thread reads the files on this machine, or those that it has kept.
 */
export type StoredFiles = readonly Uint8Array<ArrayBuffer>[] | undefined;

/** A message to the reader thread. `close` is the last one. */
export type ToReader = { readonly number: number; readonly request: ReadRequest } | 'close';

/** The type of the answer to each type of request. */
export interface ReadAnswers {
  /** Undefined when there are no files of the recording. */
  readonly index: { readonly index: IndexData; readonly manifest: Manifest } | undefined;
  /** Undefined when the thread has not kept the files. */
  readonly parse: IndexData | undefined;
  /** Undefined when there is no such file, or it is shorter. */
  readonly file: Uint8Array<ArrayBuffer> | undefined;
  /** Undefined when there are no files of the recording here. Its `movie` is undefined when there is nothing to show. */
  readonly movie: { readonly movie: MovieFile | undefined } | undefined;
}

/** The answer to the request with the same number, or why there is none. */
export type NumberedAnswer = { readonly number: number } & (
  | { readonly answer: unknown }
  | { readonly failure: string }
);
