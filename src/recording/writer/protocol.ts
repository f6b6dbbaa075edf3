/**
 * The messages between the main thread and the writer thread. The main thread decides what is written to which file, and the writer writes
 * it.
 */
import type { PictureKind } from '#media/picture.ts';
import type { InitRecord } from '#recording/index-record.ts';
import type { PlacedPicture } from '#recording/picture-file.ts';
import type { IndexData } from '#recording/recording-index.ts';
import type { RecordingsPlace } from '#recording/recordings-folder.ts';

/** The data with which the writer thread is started. */
export interface WriterJob {
  readonly place: RecordingsPlace;
  /** Seconds after which written bytes are made durable. 0: only when files are closed. */
  readonly syncS: number;
  /** The free space of the disk below which no volume is begun. */
  readonly minFreeBytes: number;
}

/** A step of one recording. Steps of a recording are carried out in order. After one that failed, all others fail until the next `open`. */
export type WriterStep = {
  readonly path: string;
} /** Opens a recording, after recovery when there are files of it. */ & (
  | {
      readonly type: 'open';
      /** Undefined for a recording that is only to be ended. */
      readonly manifest: Manifest | undefined;
      /** Whether opening fails when there are no files of the recording. */
      readonly mustExist: boolean;
    }
  /** Adds an init segment to the index of a period. */
  | { readonly type: 'init'; readonly period: number; readonly record: InitRecord }
  /** Begins a volume of a rendition, and closes the one before. */
  | { readonly type: 'volume'; readonly period: number; readonly init: InitRecord; readonly head: Uint8Array }
  /** Begins a segment: appends `box` (`record-box.ts`) to the volume of the rendition, and `record` to the index. */
  | { readonly type: 'segment'; readonly rendition: number; readonly box: Uint8Array; readonly record: Uint8Array }
  /** Appends a part to the volume of its rendition, and its record to the index. */
  | {
      readonly type: 'part';
      readonly rendition: number;
      readonly offsetTicks: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
    }
  /** Appends a record to the index of the period of the rendition's volume. */
  | { readonly type: 'segment_end'; readonly rendition: number; readonly record: Uint8Array }
  /** Closes the volume of a rendition. */
  | { readonly type: 'rendition_end'; readonly rendition: number }
  /** Appends a picture to the file of pictures of a period, and its record to the index. */
  | {
      readonly type: 'picture';
      readonly period: number;
      readonly kind: PictureKind;
      readonly atMs: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
    }
  /** Makes everything durable and closes all files. */
  | { readonly type: 'pause' }
  /** Does the same, and joins the index files of all periods into one. */
  | { readonly type: 'end' }
);

/** What the index of a recording does not state: the content of `manifest.json`. */
export interface Manifest {
  readonly version: 1;
  readonly sessionId: string;
  /** The wall-clock time of session time 0, in milliseconds. */
  readonly epoch: number;
  readonly targetDurationS: number;
}

/** The name of the file with the {@link Manifest}. */
export const MANIFEST_NAME = 'manifest.json';

/** A message to the writer thread: steps to carry out in this order. `close` is the last one. */
export type ToWriter = readonly WriterStep[] | 'close';

/** The outcome of a step. Undefined when it succeeded and there is nothing else to report. */
export type StepResult =
  | undefined
  | { readonly type: 'opened'; readonly index: IndexData; readonly nextPeriod: number }
  /** `indexBytes`: the size of all index files of the recording together. */
  | { readonly type: 'part'; readonly samples: number; readonly indexBytes: number }
  | { readonly type: 'picture'; readonly picture: PlacedPicture }
  /** The index files of these periods, and all their volumes, will not change any more. */
  | { readonly type: 'closed'; readonly periods: readonly number[] }
  | { readonly type: 'failed'; readonly reason: string; readonly code: string | undefined };

/** The answer to a message with several steps. */
export interface WriterAnswer {
  /** One for each step, in the same order. */
  readonly results: readonly StepResult[];
}
