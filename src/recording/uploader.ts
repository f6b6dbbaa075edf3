/**
 * Uploads the files of recordings to the bucket, and removes them from this machine once they are safe there.
 *
 * The folders show what is to be done, so nothing must be repaired after the process was killed. A file that the bucket may have already is
 * looked up there (HEAD). A file that the bucket does not have, or has with another size, is uploaded (PUT) and looked up again. It is
 * removed from this machine only after that, and after a period of grace.
 *
 * The calls for the disk block, so this runs in a thread of its own; see `storage/storage-thread.ts`.
 */
import { join } from 'node:path';
import type { Clock } from '#lib/clock.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { type ObjectStore, ObjectStoreError } from '#objects/objects.ts';
import { indexName, WHOLE_INDEX } from './index-file.ts';
import { fileSizes, removeFile, removeFolder } from './storage/local-files.ts';
import { uploadPause } from './storage/upload-pause.ts';
import { isComplete, periodOf, uploadable, type WriterState } from './storage/upload-plan.ts';

/** The number of uploads at the same time. */
const UPLOADS = 4;
/** How long files stay on this machine once they are in the bucket. Most viewers of recordings watch what was live just before. */
const GRACE_MS = 600_000;
/** How often this machine's copies of files are checked, and removed when their period of grace is over. */
const SWEEP_MS = 30_000;
/** The shortest time between two calls of {@link UploadListener.waiting}. */
const TELL_MS = 1000;
/** The number of failures in a row after which they are reported. Until then, the pauses are a few seconds. */
const FAILING_FROM = 3;

/** Learns of the progress of uploads. Its methods must not throw. */
export interface UploadListener {
  /** Called when all files of an ended recording are in the bucket. They stay on this machine until {@link Uploader.noted}. */
  stored(path: string): void;
  /** Called when uploads begin to fail, with the reason as a text without secrets, and with undefined when they work again. */
  failing(reason: string | undefined): void;
  /** Called with the number and the total size of the files that wait to be uploaded. */
  waiting(files: number, sizeBytes: number): void;
}

/** The options of an uploader. */
export interface UploaderOptions {
  /** The folder of all recordings. */
  readonly folder: string;
  readonly bucket: ObjectStore;
  readonly clock: Clock;
  readonly listener: UploadListener;
  /** How long files stay on this machine once they are in the bucket, in milliseconds. By default ten minutes. */
  readonly graceMs?: number;
  /** Calls a function once after a delay, unless it is disposed before. By default a timer. */
  readonly later?: (delayMs: number, run: () => void) => Disposable;
  readonly random?: () => number;
}

/** A file of a recording. It is uploaded only once it does not change any more. */
interface ClosedFile {
  readonly sizeBytes: number;
  /**
   * `asked`: the bucket may have it, and will be asked. `absent`: the bucket does not have it. `stored`: the bucket has it, since this
   * time.
   */
  state: { readonly type: 'asked' | 'absent' } | { readonly type: 'stored'; readonly since: Milliseconds };
  failures: number;
  retryAt: Milliseconds;
  isActive: boolean;
}

/** A recording with files on this machine. */
interface Recording {
  readonly path: string;
  writer: WriterState;
  files: Map<string, ClosedFile>;
  /** Whether its files may be in the bucket already, because they are from an earlier process. */
  readonly mayBeStored: boolean;
  /** The files that may be uploaded, in this order. */
  queue: string[];
  /** Whether something may have changed since the queue was made. */
  isChanged: boolean;
  readonly active: Map<string, Promise<void>>;
  readonly stopping: AbortController;
  /** Whether the listener was told that all files are in the bucket. */
  isReported: boolean;
  /** Whether the row in the store says that all files are in the bucket. */
  isNoted: boolean;
}

/** The uploads of one process. */
export class Uploader implements AsyncDisposable {
  readonly #options: UploaderOptions;
  readonly #recordings = new Map<string, Recording>();
  readonly #later: (delayMs: number, run: () => void) => Disposable;
  #active = 0;
  /** Failures of the bucket in a row. */
  #failures = 0;
  #pausedUntil = ms(0);
  /** When the file that failed last may be tried again. Other files that failed are tried at this time, or at the next sweep. */
  #retryAt = ms(0);
  #reason: string | undefined;
  #timer: Disposable | undefined;
  #sweepAt: Milliseconds;
  #toldAt = ms(0);
  #isClosed = false;
  #idle: (() => void)[] = [];

  constructor(options: UploaderOptions) {
    this.#options = options;
    this.#later = options.later ?? timeout;
    this.#sweepAt = ms(options.clock.monotonic() + SWEEP_MS);
  }

  /**
   * Takes up a recording that was found on the disk. Unless its index is that of an ended recording, it waits until {@link closed} or
   * {@link ended}.
   */
  found(path: string): void {
    if (this.#recordings.has(path)) return;
    const recording = this.#recording(path, true);
    const files = this.#fromDisk(() => fileSizes(join(this.#options.folder, path)));
    if (files?.has(WHOLE_INDEX)) recording.writer = 'ended';
    this.#changed(recording);
  }

  /** Notes that the writer has opened a recording, or has closed these periods of it, whose files will not change any more. */
  closed(path: string, periods: readonly number[]): void {
    const recording = this.#recording(path, false);
    // A session that goes on after a restart may have a recording that has ended. Its index was found on the disk.
    if (recording.writer === 'ended') return;
    const before = typeof recording.writer === 'object' ? recording.writer.closed : new Set<number>();
    recording.writer = { closed: before.union(new Set(periods)) };
    this.#changed(recording);
  }

  /** Notes that the writer has ended a recording, and that none of its files will change any more. */
  ended(path: string): void {
    const recording = this.#recording(path, false);
    recording.writer = 'ended';
    this.#changed(recording);
  }

  /** Notes that the row of a recording says that all its files are in the bucket, so that its folder may be removed. */
  noted(path: string): void {
    const recording = this.#recordings.get(path);
    if (recording !== undefined) recording.isNoted = true;
  }

  /** Stops all uploads of a recording, and forgets it. Resolves once none is in progress. */
  async forget(path: string): Promise<void> {
    const recording = this.#recordings.get(path);
    if (recording === undefined) return;
    this.#recordings.delete(path);
    recording.stopping.abort();
    await Promise.all(recording.active.values());
    this.#fill();
  }

  /**
   * Removes from this machine all media that is in the bucket, also before its period of grace is over.
   * @returns the number of bytes that were freed
   */
  makeRoom(): number {
    return this.#sweep(0);
  }

  /** Resolves once no upload is in progress and none can begin now. For tests. */
  async idle(): Promise<void> {
    this.#fill();
    if (this.#active > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Stops. Uploads in progress are aborted. Resolves once none is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    const recordings = [...this.#recordings.values()];
    for (const { stopping } of recordings) stopping.abort();
    await Promise.all(recordings.flatMap(({ active }) => [...active.values()]));
  }

  #recording(path: string, mayBeStored: boolean): Recording {
    let recording = this.#recordings.get(path);
    if (recording === undefined) {
      recording = {
        path,
        writer: undefined,
        files: new Map(),
        mayBeStored,
        queue: [],
        isChanged: true,
        active: new Map(),
        stopping: new AbortController(),
        isReported: false,
        isNoted: false,
      };
      this.#recordings.set(path, recording);
    }
    return recording;
  }

  #changed(recording: Recording): void {
    recording.isChanged = true;
    recording.isReported = false;
    this.#look(recording);
    this.#fill();
  }

  /** Reads the folder of a recording again, and updates its files and its queue. */
  #look(recording: Recording): void {
    const found = this.#fromDisk(() => fileSizes(join(this.#options.folder, recording.path)));
    if (found === undefined) return;
    recording.isChanged = false;
    const files = new Map<string, ClosedFile>();
    for (const [name, sizeBytes] of found) {
      const known = recording.files.get(name);
      const state = { type: recording.mayBeStored ? 'asked' : 'absent' } as const;
      const isSame = known?.sizeBytes === sizeBytes;
      files.set(name, isSame ? known : { sizeBytes, state, failures: 0, retryAt: ms(0), isActive: false });
    }
    recording.files = files;
    const isStored = (name: string) => files.get(name)?.state.type === 'stored';
    recording.queue = [...uploadable([...files.keys()], recording.writer, isStored)];
    if (recording.writer === 'ended' && isComplete([...files.keys()], isStored) && !recording.isReported) {
      recording.isReported = true;
      this.#options.listener.stored(recording.path);
    }
  }

  /** Begins as many uploads as possible, and sets the timer for the others. */
  #fill(): void {
    if (this.#isClosed) return;
    const now = this.#options.clock.monotonic();
    if (now >= this.#sweepAt) {
      this.#sweepAt = ms(now + SWEEP_MS);
      this.#sweep(this.#options.graceMs ?? GRACE_MS);
    }
    // While the bucket fails, one upload at a time is tried.
    const most = this.#failures === 0 ? UPLOADS : 1;
    while (now >= this.#pausedUntil && this.#active < most && this.#beginOne(now));
    if (now >= this.#toldAt + TELL_MS || this.#active === 0) this.#tellWaiting(now);
    if (this.#active === 0) for (const resolve of this.#idle.splice(0)) resolve();
    this.#setTimer(now);
  }

  /** Begins one upload, if one is possible. Recordings take turns. */
  #beginOne(now: Milliseconds): boolean {
    for (const recording of this.#recordings.values()) {
      const name = this.#next(recording, now);
      if (name === undefined) continue;
      this.#recordings.delete(recording.path);
      this.#recordings.set(recording.path, recording);
      this.#begin(recording, name, recording.files.get(name)!);
      return true;
    }
    return false;
  }

  #next(recording: Recording, now: Milliseconds): string | undefined {
    const canBegin = (name: string) => {
      const file = recording.files.get(name);
      return file !== undefined && !file.isActive && file.state.type !== 'stored' && file.retryAt <= now;
    };
    if (recording.isChanged && !recording.queue.some(canBegin)) this.#look(recording);
    return recording.queue.find(canBegin);
  }

  #begin(recording: Recording, name: string, file: ClosedFile): void {
    file.isActive = true;
    this.#active += 1;
    const startedAt = this.#options.clock.monotonic();
    const work = this.#upload(recording, name, file)
      .then(
        () => this.#succeeded(file),
        (error: unknown) => {
          if (!recording.stopping.signal.aborted && !this.#isClosed) this.#failed(file, error, startedAt);
        },
      )
      .finally(() => {
        file.isActive = false;
        this.#active -= 1;
        recording.isChanged = true;
        recording.active.delete(name);
        this.#fill();
      });
    recording.active.set(name, work);
  }

  async #upload(recording: Recording, name: string, file: ClosedFile): Promise<void> {
    const { bucket, clock, folder } = this.#options;
    const object = `${recording.path}/${name}`;
    const call = { signal: recording.stopping.signal };
    const isThere = async () => (await bucket.head(object, call))?.sizeBytes === file.sizeBytes;
    if (file.state.type === 'asked' && !(await isThere())) file.state = { type: 'absent' };
    if (file.state.type === 'absent') {
      // From here on it is unknown whether the bucket has the file.
      file.state = { type: 'asked' };
      await bucket.putFile(object, join(folder, recording.path, name), call);
      if (!(await isThere())) {
        throw new ObjectStoreError(`HEAD ${object}: the object is not as long as the uploaded file`, {
          isTemporary: true,
        });
      }
    }
    if (name === WHOLE_INDEX) await this.#removePeriods(recording, call);
    file.state = { type: 'stored', since: clock.monotonic() };
  }

  /** The whole index replaces the index files of the periods, so that opening a recording takes one request. */
  async #removePeriods({ path }: Recording, call: { readonly signal: AbortSignal }): Promise<void> {
    const { bucket } = this.#options;
    const prefix = `${path}/${WHOLE_INDEX}.`;
    for await (const { name } of bucket.list(prefix, call)) {
      const period = periodOf(name.slice(path.length + 1));
      if (period !== undefined && name === `${path}/${indexName(period)}`) await bucket.delete(name, call);
    }
  }

  #succeeded(file: ClosedFile): void {
    file.failures = 0;
    this.#failures = 0;
    this.#pausedUntil = ms(0);
    this.#tellFailing(undefined);
  }

  #failed(file: ClosedFile, error: unknown, startedAt: Milliseconds): void {
    const { clock, random = Math.random } = this.#options;
    const now = clock.monotonic();
    file.failures += 1;
    file.retryAt = ms(now + uploadPause(file.failures, random()));
    this.#retryAt = file.retryAt;
    // Uploads that were in progress at the same time fail together, and count as one failure.
    if (startedAt >= this.#pausedUntil) {
      this.#failures += 1;
      this.#pausedUntil = ms(now + uploadPause(this.#failures, random()));
    }
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#failures >= FAILING_FROM || file.failures >= FAILING_FROM) this.#tellFailing(reason);
  }

  /** Removes files that have been in the bucket for `graceMs`. Returns their total size in bytes. */
  #sweep(graceMs: number): number {
    const latest = this.#options.clock.monotonic() - graceMs;
    let freedBytes = 0;
    for (const recording of this.#recordings.values()) {
      const folder = join(this.#options.folder, recording.path);
      const isSafe = (name: string) => {
        const state = recording.files.get(name)?.state;
        return state?.type === 'stored' && state.since <= latest;
      };
      const names = [...recording.files.keys()];
      // The index files stay, because they are small, until the recording has ended and is in the bucket as a whole.
      const safe = names.filter((name) => name.endsWith('.mp4') && isSafe(name));
      const isAllSafe = recording.isNoted && isComplete(names, isSafe);
      for (const name of isAllSafe ? names : safe) {
        if (!isAllSafe) this.#fromDisk(() => removeFile(join(folder, name)));
        freedBytes += recording.files.get(name)!.sizeBytes;
        recording.files.delete(name);
      }
      if (!isAllSafe) continue;
      this.#fromDisk(() => removeFolder(folder));
      this.#recordings.delete(recording.path);
    }
    return freedBytes;
  }

  /** Makes a call to the file system. Undefined when the disk fails, which is reported. */
  #fromDisk<Result>(call: () => Result): Result | undefined {
    try {
      return call();
    } catch (error) {
      this.#tellFailing(`the disk failed: ${(error as NodeJS.ErrnoException).code}`);
      return undefined;
    }
  }

  #setTimer(now: Milliseconds): void {
    this.#timer?.[Symbol.dispose]();
    const due = [this.#sweepAt, this.#pausedUntil, this.#retryAt].filter((at) => at > now);
    this.#timer = this.#later(Math.max(1, Math.min(...due, now + SWEEP_MS) - now), () => this.#fill());
  }

  #tellFailing(reason: string | undefined): void {
    if ((this.#reason === undefined) === (reason === undefined)) return;
    this.#reason = reason;
    this.#options.listener.failing(reason);
  }

  #tellWaiting(now: Milliseconds): void {
    this.#toldAt = now;
    let [files, sizeBytes] = [0, 0];
    for (const recording of this.#recordings.values()) {
      for (const name of recording.queue) {
        const file = recording.files.get(name);
        if (file === undefined || file.state.type === 'stored') continue;
        files += 1;
        sizeBytes += file.sizeBytes;
      }
    }
    this.#options.listener.waiting(files, sizeBytes);
  }
}

function timeout(delayMs: number, run: () => void): Disposable {
  const timer = setTimeout(run, delayMs);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
