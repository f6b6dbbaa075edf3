/**
 * The messages between the main thread and the storage thread.
 */
import type { RecordingsPlace } from '#recording/recordings-folder.ts';
import type { KeptSpan } from './unneeded-volumes.ts';

/** The data with which the storage thread is started. */
export interface StorageJob {
  readonly place: RecordingsPlace;
  /** The settings of the bucket. Undefined when recordings stay in their folder. */
  readonly bucket:
    | {
        readonly s3Url: string | undefined;
        readonly s3Region: string;
        readonly s3AccessKeyId: string | undefined;
        readonly s3SecretAccessKey: string | undefined;
      }
    | undefined;
  /** How long files stay on this machine once they are in the bucket. Undefined: the uploader's default. */
  readonly graceMs: number | undefined;
}

/** A recording that has files on this machine. `sessionId` is undefined when its manifest cannot be read. */
export interface LocalRecording {
  readonly path: string;
  readonly sessionId: string | undefined;
}

/** A message that the storage thread does not answer. Its types are the names of the methods of `StorageThread`. */
export type StorageNote =
  | { readonly type: 'found' | 'ended' | 'noted'; readonly path: string }
  | { readonly type: 'closed'; readonly path: string; readonly periods: readonly number[] }
  | { readonly type: 'stop' };

/** A request to the storage thread. {@link StorageAnswers} has the type of each answer. */
export type StorageCall =
  | { readonly type: 'local' }
  | { readonly type: 'free' | 'free_disk'; readonly path: string; readonly spans: readonly KeptSpan[] }
  | { readonly type: 'free_bytes' }
  | { readonly type: 'make_room' };

/** The answers to {@link StorageCall}s. */
export interface StorageAnswers {
  readonly local: readonly LocalRecording[];
  readonly free: undefined;
  readonly free_disk: undefined;
  /** The free space of the disk, in bytes. Undefined when nothing was recorded yet. */
  readonly free_bytes: number | undefined;
  /** The number of bytes that were freed. */
  readonly make_room: number;
}

/** A message to the storage thread. */
export type ToStorage = StorageNote | { readonly type: 'call'; readonly id: number; readonly call: StorageCall };

/** A message from the storage thread: the outcome of a request, or what `UploadListener` has the same name for. */
export type FromStorage =
  | { readonly type: 'answer'; readonly id: number; readonly result: StorageAnswers[keyof StorageAnswers] }
  | { readonly type: 'refusal'; readonly id: number; readonly reason: string }
  | { readonly type: 'stored'; readonly path: string }
  | { readonly type: 'failing'; readonly reason: string | undefined }
  | { readonly type: 'waiting'; readonly files: number; readonly sizeBytes: number };
