/**
 * What the main thread and the storage thread say to each other.
 */
import type { KeptSpan } from './needed-volumes.ts';

/** What the storage thread is started with. */
export interface StorageJob {
  /** The folder of all recordings. */
  readonly folder: string;
  readonly bucket:
    | {
        readonly s3Url: string | undefined;
        readonly s3Region: string;
        readonly s3AccessKeyId: string | undefined;
        readonly s3SecretAccessKey: string | undefined;
      }
    | undefined;
  readonly graceMs: number | undefined;
}

/** A recording of which files are on this machine. The session is undefined when its manifest cannot be read. */
export interface LocalRecording {
  readonly path: string;
  readonly sessionId: string | undefined;
}

/** What the storage thread is told. There is no answer. */
export type StorageNote =
  | { readonly type: 'found' | 'ended' | 'noted'; readonly path: string }
  | { readonly type: 'closed'; readonly path: string; readonly periods: readonly number[] }
  | { readonly type: 'stop' };

/** What the storage thread is asked, with the type of each answer. */
export type StorageCall =
  | { readonly type: 'local' }
  | { readonly type: 'free'; readonly path: string; readonly spans: readonly KeptSpan[] }
  | { readonly type: 'free_bytes' }
  | { readonly type: 'make_room' };

/** The answers to {@link StorageCall}s. */
export interface StorageAnswers {
  readonly local: readonly LocalRecording[];
  readonly free: undefined;
  /** Undefined when nothing was recorded yet. */
  readonly free_bytes: number | undefined;
  /** The bytes that were freed. */
  readonly make_room: number;
}

/** A message to the storage thread. */
export type ToStorage = StorageNote | { readonly type: 'call'; readonly id: number; readonly call: StorageCall };

/** A message of the storage thread. */
export type FromStorage =
  | { readonly type: 'answer'; readonly id: number; readonly result: StorageAnswers[keyof StorageAnswers] }
  | { readonly type: 'refusal'; readonly id: number; readonly reason: string }
  | { readonly type: 'stored'; readonly path: string }
  | { readonly type: 'failing'; readonly reason: string | undefined }
  | { readonly type: 'waiting'; readonly files: number; readonly sizeBytes: number };
