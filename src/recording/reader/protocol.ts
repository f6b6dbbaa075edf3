/**
 * What the main thread and the reader thread say to each other.
 */
import type { MovieFile, MovieRequest } from '#recording/movie-file.ts';
import type { IndexData } from '#recording/recording-index.ts';
import type { Manifest } from '#recording/writer/protocol.ts';

/** What the reader thread is started with. */
export interface ReaderJob {
  /** The folder of all recordings. */
  readonly folder: string;
}

/** What is read. */
export type ReadRequest =
  /** The index of a recording, which may still be running. */
  | { readonly type: 'index'; readonly path: string }
  /** Index files that are not on this machine. */
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
      /** The index of the recording. Undefined when it is on this machine. */
      readonly files?: readonly Uint8Array[] | undefined;
      readonly movie: MovieRequest;
    };

/** The answers by the types of requests. */
export interface ReadAnswers {
  /** Undefined when there are no files of the recording. */
  readonly index: { readonly index: IndexData; readonly manifest: Manifest } | undefined;
  readonly parse: IndexData;
  /** Undefined when there is no such file, or it is shorter. */
  readonly file: Uint8Array<ArrayBuffer> | undefined;
  /** Undefined when there is nothing to show. */
  readonly movie: MovieFile | undefined;
}

/** The answer to a request with its number. */
export type NumberedAnswer = { readonly number: number } & (
  | { readonly answer: unknown }
  | { readonly failure: string }
);
