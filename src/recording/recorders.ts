/**
 * The recorders of this process, which share one writer thread.
 */
import type { MediaPath, UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { within } from '#lib/within.ts';
import type { Logger } from '#telemetry/logger.ts';
import { extentOf } from './extent.ts';
import { MAX_INDEX_BYTES } from './index-file.ts';
import { SessionRecorder } from './recorder.ts';
import type { Recorders, RecordingExtent, RecordingRequest } from './recording.ts';
import { RecordingIndex } from './recording-index.ts';
import type { RecordingsPlace } from './recordings-folder.ts';
import type { StepResult, WriterStep } from './writer/protocol.ts';
import { WriterThread } from './writer/writer-thread.ts';

/** How long a recording that ends waits for the disk. After that it is settled later. */
const DURABLE_WITHIN_MS = 10_000;
/** The size of the index at which a recording ends. What it still writes while it ends fits into the 16 MiB below the limit of readers. */
const MAX_WRITTEN_INDEX_BYTES = MAX_INDEX_BYTES - 16 * 1024 * 1024;

/** The options of the recorders. */
export interface FileRecordersOptions extends RecordingsPlace {
  /** The length of a period, in seconds. */
  readonly volumeS: number;
  /** Seconds after which written media is made durable. 0: only when files are closed. */
  readonly syncS: number;
  /** The length at which a recording ends, in hours. */
  readonly maxHours: number;
  readonly renditions: 'all' | 'source';
  /** The free space of the disk below which nothing is recorded. */
  readonly minFreeBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The most bytes of media that wait for the disk. */
  readonly maxPendingBytes?: number;
  /** How long a recording that ends or pauses waits for the disk, in milliseconds. */
  readonly durableWithinMs?: number;
  /** The size of the index at which a recording ends. */
  readonly maxIndexBytes?: number;
  /** Whether the recordings of a user exceed the quota, as far as that is known. Nothing more of the user is recorded then. */
  readonly isOverQuota?: (userId: UserId) => boolean;
  /** Whether a recording that is not on this machine is in the bucket as one that has ended. */
  readonly hasEndedInBucket?: ((path: MediaPath) => Promise<boolean>) | undefined;
  /** Called when a recording begins or is continued. */
  readonly onBegun?: (userId: UserId, path: MediaPath) => void;
  /** Called when a recording of an earlier process is continued, with the number of its periods. Their files will not change any more. */
  readonly onContinued?: (path: MediaPath, periods: number) => void;
  /** Called with the numbers of periods of a running recording whose index files and volumes will not change any more. */
  readonly onClosed?: (path: MediaPath, periods: readonly number[]) => void;
  /** Called when the end of a recording is durable. None of its files will change any more. */
  readonly onEnded?: (path: MediaPath) => void;
}

/** Makes recorders that write files. Disposing it ends the writer thread; recorders should have ended or paused before. */
export class FileRecorders implements Recorders, AsyncDisposable {
  readonly #options: FileRecordersOptions;
  readonly #writer: WriterThread;
  readonly #running = new Map<MediaPath, SessionRecorder>();
  /** Recordings that are being ended because their process did not end them. An outcome stays until a caller has got it. */
  readonly #settling = new Map<MediaPath, Promise<RecordingExtent | undefined>>();
  #uploadsFail = false;

  constructor(options: FileRecordersOptions) {
    const { folder, noteFile, syncS, minFreeBytes, logger, maxPendingBytes } = options;
    this.#options = options;
    const job = { place: { folder, noteFile }, syncS, minFreeBytes };
    this.#writer = new WriterThread({ job, logger, ...(maxPendingBytes === undefined ? {} : { maxPendingBytes }) });
  }

  /** The bytes of media that wait for the disk. */
  get pendingBytes(): number {
    return this.#writer.pendingBytes;
  }

  /** The recorder that writes a recording. Undefined when this process does not record it. */
  running(path: MediaPath): SessionRecorder | undefined {
    return this.#running.get(path);
  }

  /** Raises or clears the warning `recording_upload_failing` of all sessions that are recorded, and of all that begin later. */
  warnOfUploads(fail: boolean): void {
    this.#uploadsFail = fail;
    for (const { request } of this.#running.values()) request.warn('recording_upload_failing', fail);
  }

  /** Ends a running recording because its owner's recordings exceed the quota. The live session goes on. */
  endOverQuota(path: MediaPath): void {
    const recorder = this.#running.get(path);
    if (recorder === undefined) return;
    recorder.request.warn('recording_over_quota', true);
    recorder.end().catch((error: unknown) => {
      this.#options.logger.warn({ err: error, path }, 'a recording beyond the quota could not be ended yet');
    });
  }

  begin(request: RecordingRequest): SessionRecorder {
    const { volumeS, maxHours, renditions, clock, logger, onContinued, onClosed, onEnded } = this.#options;
    const recorder = new SessionRecorder({
      request,
      writer: this.#writer,
      volumeS,
      maxS: maxHours * 3600,
      maxIndexBytes: this.#options.maxIndexBytes ?? MAX_WRITTEN_INDEX_BYTES,
      durableWithinMs: this.#options.durableWithinMs ?? DURABLE_WITHIN_MS,
      renditions,
      clock,
      logger,
      isOnlyStored: async () => (await this.#options.hasEndedInBucket?.(request.path)) ?? false,
      onContinued: (periods) => onContinued?.(request.path, periods),
      onClosed: (periods) => onClosed?.(request.path, periods),
      onEnded: () => onEnded?.(request.path),
      onDone: () => {
        if (this.#running.get(request.path) === recorder) this.#running.delete(request.path);
      },
    });
    this.#running.set(request.path, recorder);
    if (this.#uploadsFail) request.warn('recording_upload_failing', true);
    // Nothing has been given to the recorder yet, so a recording that begins now remains empty.
    if (this.#options.isOverQuota?.(request.userId)) this.endOverQuota(request.path);
    else this.#options.onBegun?.(request.userId, request.path);
    return recorder;
  }

  async settle(path: MediaPath): Promise<RecordingExtent | undefined> {
    const settling = this.#settling.get(path) ?? this.#settle(path);
    this.#settling.set(path, settling);
    let isOver = true;
    try {
      isOver = await within(this.#options.durableWithinMs ?? DURABLE_WITHIN_MS, settling);
    } finally {
      if (isOver) this.#settling.delete(path);
    }
    if (isOver) return await settling;
    throw new Error(`Recording ${path}: the disk does not answer.`);
  }

  async #settle(path: MediaPath): Promise<RecordingExtent | undefined> {
    const opened = await this.#do({ type: 'open', path, manifest: undefined, mustExist: false });
    if (opened?.type !== 'opened') return undefined;
    await this.#do({ type: 'end', path });
    this.#options.onEnded?.(path);
    const index = new RecordingIndex(opened.index);
    index.apply({ type: 'end' });
    return extentOf(index);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(Array.from(this.#running.values(), (recorder) => recorder.pause()));
    await this.#writer[Symbol.asyncDispose]();
  }

  #do(step: WriterStep): Promise<StepResult> {
    const { promise, resolve, reject } = Promise.withResolvers<StepResult>();
    this.#writer.post(step, (result) => {
      if (result?.type === 'failed') reject(new Error(`Recording ${step.path}: ${result.reason}.`));
      else resolve(result);
    });
    return promise;
  }
}
