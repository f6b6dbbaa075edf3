/**
 * What the main thread and the writer thread say to each other. The main thread decides where everything goes; the writer does it.
 */
import type { PictureKind } from '#media/picture.ts';
import type { InitRecord } from '#recording/index-file.ts';
import type { PlacedPicture } from '#recording/picture-file.ts';
import type { IndexData } from '#recording/recording-index.ts';

/** What the writer thread is started with. */
export interface WriterJob {
  /** The folder of all recordings. */
  readonly folder: string;
  /** Seconds after which what was written is made durable. 0: never, except where files are closed. */
  readonly syncS: number;
  /** The free space below which nothing is written. */
  readonly minFreeBytes: number;
}

/** A step of one recording, whose steps are done in order. After one that failed, the others fail until the next `open`. */
export type WriterStep = {
  readonly path: string;
} /** Opens a recording, after recovery when there are files of it. */ & (
  | { readonly type: 'open'; readonly manifest: Manifest | undefined }
  /** Adds an init segment to the index of a period. */
  | { readonly type: 'init'; readonly period: number; readonly record: InitRecord }
  /** Begins a volume of a rendition, and closes the one before. */
  | { readonly type: 'volume'; readonly period: number; readonly init: InitRecord; readonly head: Uint8Array }
  /** Begins a segment. @see recordBox */
  | { readonly type: 'segment'; readonly rendition: number; readonly box: Uint8Array; readonly record: Uint8Array }
  | {
      readonly type: 'part';
      readonly rendition: number;
      readonly offsetTicks: number;
      readonly bytes: Uint8Array;
    }
  /** Adds a record to the index of a rendition's period. */
  | { readonly type: 'segment_end'; readonly rendition: number; readonly record: Uint8Array }
  /** Closes the volume of a rendition. */
  | { readonly type: 'rendition_end'; readonly rendition: number }
  /** Adds a picture to the file of a period, and tells the index. */
  | {
      readonly type: 'picture';
      readonly period: number;
      readonly kind: PictureKind;
      readonly atMs: number;
      readonly bytes: Uint8Array;
    }
  /** Makes everything durable and closes all files. */
  | { readonly type: 'pause' }
  /** The same, and makes one index of all. */
  | { readonly type: 'end' }
);

/** What is known of a recording besides its media: `manifest.json`. */
export interface Manifest {
  readonly version: 1;
  readonly sessionId: string;
  /** The wall-clock time of session time 0, in milliseconds. */
  readonly epoch: number;
  readonly targetDurationS: number;
}

/** The name of the {@link Manifest}. */
export const MANIFEST_NAME = 'manifest.json';

/** What became of a step. Steps that have nothing to tell give `undefined`. */
export type StepResult =
  | undefined
  | { readonly type: 'opened'; readonly index: IndexData; readonly nextPeriod: number }
  | { readonly type: 'part'; readonly samples: number }
  | { readonly type: 'picture'; readonly picture: PlacedPicture }
  /** The index files of these periods, and all their volumes, will never change. */
  | { readonly type: 'closed'; readonly periods: readonly number[] }
  | { readonly type: 'failed'; readonly reason: string; readonly code: string | undefined };

/** The answer to a message of steps. */
export interface WriterAnswer {
  /** One for each step. */
  readonly results: readonly StepResult[];
}
