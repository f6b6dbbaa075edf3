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
  /** Parses index files that are not on this machine. */
  | { readonly type: 'parse'; readonly path: string; readonly files: readonly Uint8Array[] }
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
      /** The index files of the recording, in order. Undefined when they are on this machine. */
      readonly files?: readonly Uint8Array[] | undefined;
      readonly movie: MovieRequest;
    };

/** The type of the answer to each type of request. */
export interface ReadAnswers {
  /** Undefined when there are no files of the recording. */
  readonly index: { readonly index: IndexData; readonly manifest: Manifest } | undefined;
  readonly parse: IndexData;
  /** Undefined when there is no such file, or it is shorter. */
  readonly file: Uint8Array<ArrayBuffer> | undefined;
  /** Undefined when there is nothing to show. */
  readonly movie: MovieFile | undefined;
}

/** The answer to the request with the same number, or why there is none. */
export type NumberedAnswer = { readonly number: number } & (
  | { readonly answer: unknown }
  | { readonly failure: string }
);
