/**
 * The open files of one recording. All calls block, so they are made in the writer thread.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { readFragment } from '#media/mp4/fragment-reader.ts';
import { readInit } from '#media/mp4/init-reader.ts';
import type { SampleDefaults } from '#media/mp4/sample-defaults.ts';
import { encodeRecord, indexName, volumeName } from '#recording/index-file.ts';
import type { InitRecord } from '#recording/index-record.ts';
import { picturesName } from '#recording/picture-file.ts';
import { exists } from '#recording/recordings-folder.ts';
import { recover, syncFolder, writeAll, writeWholeIndex } from '#recording/recovery.ts';
import { MANIFEST_NAME, type StepResult, type WriterStep } from './protocol.ts';

/** Makes everything that was written to a file durable. Tests replace it. */
export type Sync = (file: number) => void;

interface OpenFile {
  readonly file: number;
  sizeBytes: number;
  isDirty: boolean;
}

interface Volume extends OpenFile {
  readonly period: number;
  readonly defaults: SampleDefaults;
}

/** The files of one recording. After an error was thrown, they must be {@link RecordingFiles.abandon}ed. */
export class RecordingFiles {
  readonly #folder: string;
  readonly #sync: Sync;
  readonly #indexes = new Map<number, OpenFile>();
  readonly #volumes = new Map<number, Volume>();
  readonly #others = new Map<string, OpenFile>();
  #newestPeriod = -1;
  /** The size of the index files that are not open. */
  #closedIndexBytes = 0;
  #hasNewNames = true;
  /** When the oldest byte that is not durable yet was written, by the clock of the caller. Undefined when everything is durable. */
  dirtySince: number | undefined;

  /** @param folder the folder of this recording */
  constructor(folder: string, sync: Sync = fdatasyncSync) {
    this.#folder = folder;
    this.#sync = sync;
  }

  /**
   * Carries out a step.
   * @param now the time by the caller's clock, to which {@link dirtySince} may be set
   * @throws an error of the system; {MalformedMp4Error} when a part or an init segment is not of this server
   */
  do(step: WriterStep, now: number): StepResult {
    switch (step.type) {
      case 'open':
        return this.#open(step);
      case 'init':
        this.#append(this.#indexOf(step.period), encodeRecord(step.record), now);
        return undefined;
      case 'volume':
        return this.#beginVolume(step.period, step.init, step.head, now);
      case 'segment': {
        const volume = this.#volumeOf(step.rendition);
        this.#append(volume, step.box, now);
        this.#append(this.#indexOf(volume.period), step.record, now);
        return undefined;
      }
      case 'part':
        return this.#addPart(step, now);
      case 'segment_end':
        this.#append(this.#indexOf(this.#volumeOf(step.rendition).period), step.record, now);
        return undefined;
      case 'rendition_end':
        this.#close(this.#volumes, step.rendition);
        return this.#closePeriods();
      case 'picture':
        return this.#addPicture(step, now);
      case 'pause':
        this.close();
        return undefined;
      case 'end':
        this.close();
        writeWholeIndex(this.#folder);
        return undefined;
    }
  }

  /**
   * Makes everything that was written durable: volumes before index files, so that no index states as durable what a volume may lose.
   * @throws an error of the system
   */
  sync(): void {
    for (const file of [...this.#volumes.values(), ...this.#others.values()]) this.#syncFile(file);
    for (const index of this.#indexes.values()) {
      if (!index.isDirty) continue;
      // A record may refer to a volume that is closed. It was made durable when it was closed.
      this.#append(index, encodeRecord({ type: 'sync' }), undefined);
      this.#syncFile(index);
    }
    if (this.#hasNewNames) syncFolder(this.#folder);
    this.#hasNewNames = false;
    this.dirtySince = undefined;
  }

  /** Makes everything durable and closes all files. @throws an error of the system */
  close(): void {
    this.sync();
    this.abandon();
  }

  /** Closes all files as they are. Never throws. */
  abandon(): void {
    for (const { file } of [...this.#volumes.values(), ...this.#indexes.values(), ...this.#others.values()]) {
      try {
        closeSync(file);
      } catch {
        // An error is ignored, because recovery will check the file.
      }
    }
    for (const files of [this.#volumes, this.#indexes, this.#others]) files.clear();
    this.dirtySince = undefined;
  }

  #open({ manifest, mustExist }: Extract<WriterStep, { type: 'open' }>): StepResult {
    this.abandon();
    const isThere = exists(this.#folder);
    if (manifest === undefined && !isThere) return undefined;
    if (mustExist && !isThere) throw new Error(`there is no folder ${this.#folder}`);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (manifest !== undefined && !exists(join(this.#folder, MANIFEST_NAME))) {
      const temporary = join(this.#folder, `${MANIFEST_NAME}.new`);
      writeFileSync(temporary, JSON.stringify(manifest), { mode: 0o600, flush: true });
      renameSync(temporary, join(this.#folder, MANIFEST_NAME));
      syncFolder(join(this.#folder, '..'));
    }
    const { index, nextPeriod, indexBytes } = recover(this.#folder);
    this.#newestPeriod = nextPeriod - 1;
    this.#closedIndexBytes = indexBytes;
    this.#hasNewNames = true;
    return { type: 'opened', index: index.data, nextPeriod };
  }

  #beginVolume(period: number, init: InitRecord, head: Uint8Array, now: number): StepResult {
    this.#close(this.#volumes, init.rendition);
    this.#newestPeriod = Math.max(this.#newestPeriod, period);
    // Index records refer to the bytes of a volume, so an existing volume is never overwritten.
    const opened = this.#openFile(volumeName(init.id, period), 'wx');
    const volume: Volume = { ...opened, period, defaults: readInit(init.bytes).defaults };
    this.#volumes.set(init.rendition, volume);
    this.#append(volume, head, now);
    return this.#closePeriods();
  }

  #addPart({ rendition, bytes, offsetTicks }: Extract<WriterStep, { type: 'part' }>, now: number): StepResult {
    const volume = this.#volumeOf(rendition);
    const { moofBytes, ...samples } = readFragment(bytes, volume.defaults);
    this.#append(volume, bytes, now);
    const size = { sizeBytes: bytes.length, moofBytes, crc32: crc32(bytes) };
    const record = encodeRecord({ type: 'part', rendition, ...size, offsetTicks, samples });
    this.#append(this.#indexOf(volume.period), record, now);
    const indexBytes = this.#indexes.values().reduce((sum, { sizeBytes }) => sum + sizeBytes, this.#closedIndexBytes);
    return { type: 'part', samples: samples.sizes.length, indexBytes };
  }

  #addPicture(step: Extract<WriterStep, { type: 'picture' }>, now: number): StepResult {
    const { kind, atMs, period, bytes } = step;
    const file = this.#other(picturesName(period));
    const picture = { kind, atMs, period, offset: file.sizeBytes, sizeBytes: bytes.length };
    this.#append(file, bytes, now);
    this.#append(this.#indexOf(period), encodeRecord({ type: 'picture', ...picture }), now);
    return { type: 'picture', picture };
  }

  /**
   * Appends bytes. When they do not all fit on the disk, those that were written are cut off again, so that no file ends in the middle of a
   * record.
   */
  #append(to: OpenFile, bytes: Uint8Array, now: number | undefined): void {
    to.isDirty = true;
    this.dirtySince ??= now;
    try {
      writeAll(to.file, bytes);
    } catch (error) {
      ftruncateSync(to.file, to.sizeBytes);
      throw error;
    }
    to.sizeBytes += bytes.length;
  }

  #syncFile(file: OpenFile): void {
    if (!file.isDirty) return;
    this.#sync(file.file);
    file.isDirty = false;
  }

  /** Closes one of these files, if it is open, after making it durable. */
  #close<Name>(files: Map<Name, OpenFile>, name: Name): void {
    const open = files.get(name);
    if (open === undefined) return;
    this.#syncFile(open);
    files.delete(name);
    closeSync(open.file);
  }

  /** Closes the index file of each earlier period that has no open volume, after making it durable. */
  #closePeriods(): StepResult {
    const periods: number[] = [];
    for (const [period, index] of this.#indexes) {
      const isUsed = this.#volumes.values().some((volume) => volume.period === period);
      if (isUsed || period >= this.#newestPeriod) continue;
      this.#append(index, encodeRecord({ type: 'sync' }), undefined);
      this.#closedIndexBytes += index.sizeBytes;
      this.#close(this.#indexes, period);
      this.#close(this.#others, picturesName(period));
      periods.push(period);
    }
    return periods.length === 0 ? undefined : { type: 'closed', periods };
  }

  #volumeOf(rendition: number): Volume {
    const volume = this.#volumes.get(rendition);
    if (volume === undefined) throw new Error(`Rendition ${rendition} has no volume.`);
    return volume;
  }

  #indexOf(period: number): OpenFile {
    let index = this.#indexes.get(period);
    if (index === undefined) {
      index = this.#openFile(indexName(period), 'a');
      this.#indexes.set(period, index);
    }
    return index;
  }

  #other(name: string): OpenFile {
    let other = this.#others.get(name);
    if (other === undefined) {
      other = this.#openFile(name, 'a');
      this.#others.set(name, other);
    }
    return other;
  }

  #openFile(name: string, flags: 'a' | 'wx'): OpenFile {
    const file = openSync(join(this.#folder, name), flags, 0o600);
    this.#hasNewNames = true;
    return { file, sizeBytes: fstatSync(file).size, isDirty: false };
  }
}
