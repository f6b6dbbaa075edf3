/**
 * Recovery: repairs the files of a recording after its process or its machine died. Runs in the writer thread, before anything is appended.
 *
 * Everything before the last `sync` record of an index file is durable and is trusted, as far as the volumes that are there are long
 * enough: in a copy of a running recording, an index file may be newer than its volumes. Of the records after it, a part is adopted only if
 * all records before it were adopted, and its bytes have the CRC that its record states. Everything else is cut off, so that a torn part is
 * never shown.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { encodeRecord, indexName, type PartTotals, readRecords, volumeName, WHOLE_INDEX } from './index-file.ts';
import type { IndexRecord, PartRecord, SegmentRecord } from './index-record.ts';
import { partSize, RecordingIndex, readIndex } from './recording-index.ts';

/** A recording after recovery. */
export interface Recovered {
  readonly index: RecordingIndex;
  /** The number after the largest one that a period of the recording has. 0 when it has none. */
  readonly nextPeriod: number;
  /** The size of the index files of its periods together. */
  readonly indexBytes: number;
}

const INDEX_NAME = /^index\.(\d{1,9})$/;
const VOLUME_NAME = /^.+\.(\d{1,9})\.mp4$/;
const SYNC = encodeRecord({ type: 'sync' });

/**
 * Repairs the files of a recording, and reads its index. A folder without an index is an empty recording.
 * @throws an error of the system
 */
export function recover(folder: string): Recovered {
  const names = readdirSync(folder);
  const whole = names.includes(WHOLE_INDEX) ? readWhole(folder) : undefined;
  if (whole !== undefined) {
    for (const name of names) if (INDEX_NAME.test(name)) rmSync(join(folder, name));
    return { index: whole, nextPeriod: nextPeriodAfter(names), indexBytes: 0 };
  }
  const adopted = new Adoption(folder);
  for (const period of periodsOf(names)) adopted.takeFile(period);
  adopted.cutVolumes(names);
  adopted.index.closeSegments();
  return { index: adopted.index, nextPeriod: nextPeriodAfter(names), indexBytes: adopted.indexBytes };
}

/**
 * Joins the index files of all periods into one that marks the recording as ended, and then removes them. The recording must have no open
 * files. Durable on return. Does nothing when it was done before.
 * @throws an error of the system
 */
export function writeWholeIndex(folder: string): void {
  const names = readdirSync(folder);
  const periods = periodsOf(names);
  if (periods.length === 0 && names.includes(WHOLE_INDEX)) return;
  const files = periods.map((period) => readFileSync(join(folder, indexName(period))));
  const temporary = join(folder, `${WHOLE_INDEX}.new`);
  const file = openSync(temporary, 'w', 0o600);
  try {
    for (const bytes of [...files, encodeRecord({ type: 'end' })]) writeAll(file, bytes);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, join(folder, WHOLE_INDEX));
  syncFolder(folder);
  for (const period of periods) rmSync(join(folder, indexName(period)));
}

/**
 * Reads the index of a recording, which may be running, and changes no file. Undefined when there is no index.
 * @throws an error of the system
 */
export function readIndexOf(folder: string): RecordingIndex | undefined {
  const files = readIndexFiles(folder);
  return files.length === 0 ? undefined : readIndex(files);
}

/** Reads the index files of a recording, in order. Empty when there are none. @throws an error of the system */
export function readIndexFiles(folder: string): readonly Uint8Array[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder);
  if (names.includes(WHOLE_INDEX)) return [readFileSync(join(folder, WHOLE_INDEX))];
  return periodsOf(names).map((period) => readFileSync(join(folder, indexName(period))));
}

/** Writes all bytes at the position of a file, in as many calls as the system needs. @throws an error of the system */
export function writeAll(file: number, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) at += writeSync(file, bytes, at, bytes.length - at);
}

/** Makes the names of the files in a folder durable. @throws an error of the system */
export function syncFolder(folder: string): void {
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Adopts the records of the index files, one file after another, up to the first record whose media is missing or damaged. */
class Adoption implements PartTotals {
  readonly index = new RecordingIndex();
  indexBytes = 0;
  readonly #folder: string;
  readonly #ids = new Map<number, string>();
  /** Where the newest adopted part of each rendition ends. */
  readonly #ends = new Map<number, { readonly volume: string; at: number }>();
  /** The length of each volume up to the end of its last adopted part. */
  readonly #volumes = new Map<string, number>();
  /** The volumes of records that were adopted and are not known to be durable. */
  readonly #unsynced = new Set<string>();
  /** The sizes of the volumes on the disk. -1 for those that are not there. */
  readonly #sizes = new Map<string, number>();
  /** Whether a volume was shorter than a durable record says, so that this is a copy that was made while the recording ran. */
  #isTornCopy = false;
  /** Whether all records so far were adopted. After one that was not, only records before a `sync` record are. */
  #isComplete = true;

  constructor(folder: string) {
    this.#folder = folder;
  }

  takeFile(period: number): void {
    const path = join(this.#folder, indexName(period));
    const bytes = readFileSync(path);
    const durableBytes = endOfLastSync(bytes);
    const durable = bytes.subarray(0, durableBytes);
    let takenBytes = readRecords(durable, (record) => void this.#adopt(record), this);
    if (takenBytes < durableBytes) this.#isComplete = false;
    else {
      readRecords(bytes.subarray(durableBytes), (record, end) => {
        this.#isComplete &&= this.#isTrue(record);
        if (!this.#isComplete) return;
        const volume = this.#adopt(record);
        if (volume !== undefined) this.#unsynced.add(volume);
        takenBytes = durableBytes + end;
      });
    }
    if (takenBytes < bytes.length) this.#isComplete = false;
    this.indexBytes += takenBytes;
    if (takenBytes === bytes.length && takenBytes === durableBytes) return;
    truncateSync(path, takenBytes);
    this.#confirm(path);
  }

  /** Adopts a part that its index file calls durable. @returns false when its volume is there, but too short for it */
  total(
    rendition: number,
    { sizeBytes }: Pick<PartRecord, 'sizeBytes'>,
    samples: number,
    durationTicks: number,
  ): boolean {
    const end = this.#ends.get(rendition);
    if (end !== undefined && !this.#mayHave(end.volume, end.at + sizeBytes)) return false;
    this.#extend(rendition, sizeBytes);
    this.index.apply({ type: 'part', rendition, sizeBytes, samples, durationTicks });
    return true;
  }

  /** Whether a volume may have this length. One that is not there may be in the bucket, unless this is a copy without it. */
  #mayHave(volume: string, sizeBytes: number): boolean {
    const known = this.#sizes.get(volume) ?? sizeOf(join(this.#folder, volume));
    this.#sizes.set(volume, known);
    if (known >= sizeBytes || (known === -1 && !this.#isTornCopy)) return true;
    this.#isTornCopy = true;
    return false;
  }

  /**
   * Removes media that no adopted record describes: the end of a torn volume, and volumes that no record names. A volume whose period has
   * no index file is kept, because `millrace recordings check` can make the index again from it.
   */
  cutVolumes(names: readonly string[]): void {
    const periods = new Set(periodsOf(names));
    for (const name of names) {
      const period = VOLUME_NAME.exec(name)?.[1];
      if (period === undefined) continue;
      const path = join(this.#folder, name);
      const endBytes = this.#volumes.get(name);
      if (endBytes === undefined && !periods.has(Number(period))) continue;
      if (endBytes === undefined) rmSync(path);
      else if (sizeOf(path) > endBytes) truncateSync(path, endBytes);
    }
  }

  /** Adopts a record. Returns the volume that its bytes are in. */
  #adopt(record: IndexRecord): string | undefined {
    if (record.type === 'part') this.index.apply(partSize(record));
    else if (record.type !== 'sync') this.index.apply(record);
    if (record.type === 'init') this.#ids.set(record.rendition, record.id);
    if (record.type === 'segment') {
      const volume = this.#volumeOf(record);
      this.#ends.set(record.rendition, { volume, at: record.offset });
      this.#volumes.set(volume, record.offset);
      return volume;
    }
    return record.type === 'part' ? this.#extend(record.rendition, record.sizeBytes) : undefined;
  }

  /** Notes that a part was adopted. Returns its volume. */
  #extend(rendition: number, sizeBytes: number): string | undefined {
    const end = this.#ends.get(rendition);
    if (end === undefined) return undefined;
    end.at += sizeBytes;
    this.#volumes.set(end.volume, end.at);
    return end.volume;
  }

  /** Whether the volumes contain what a record describes. */
  #isTrue(record: IndexRecord): boolean {
    if (record.type === 'segment') return sizeOf(join(this.#folder, this.#volumeOf(record))) >= record.offset;
    if (record.type !== 'part') return true;
    const end = this.#ends.get(record.rendition);
    if (end === undefined) return false;
    const bytes = readSpan(join(this.#folder, end.volume), end.at, record.sizeBytes);
    return bytes.length === record.sizeBytes && crc32(bytes) === record.crc32;
  }

  #volumeOf({ rendition, volume }: SegmentRecord): string {
    return volumeName(this.#ids.get(rendition) ?? '', volume);
  }

  /**
   * Makes the adopted records and their media durable, so that they need not be verified again. Media that was durable before may be in the
   * bucket only.
   */
  #confirm(path: string): void {
    for (const name of this.#unsynced) syncFile(join(this.#folder, name));
    this.#unsynced.clear();
    const file = openSync(path, 'a');
    try {
      writeAll(file, SYNC);
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

/** Where the last `sync` record ends. 0 when there is none. The index file of a period that is over ends with one. */
function endOfLastSync(bytes: Uint8Array): number {
  if (Buffer.compare(bytes.subarray(-SYNC.length), SYNC) === 0) return bytes.length;
  let found = 0;
  readRecords(bytes, (record, end) => {
    if (record.type === 'sync') found = end;
  });
  return found;
}

function readWhole(folder: string): RecordingIndex | undefined {
  const index = readIndex([readFileSync(join(folder, WHOLE_INDEX))]);
  return index.hasEnded ? index : undefined;
}

/** The numbers of the index files among names, in order. */
function periodsOf(names: readonly string[]): readonly number[] {
  const periods = names.flatMap((name) => Number(INDEX_NAME.exec(name)?.[1] ?? Number.NaN));
  return periods.filter((period) => Number.isFinite(period)).toSorted((a, b) => a - b);
}

function nextPeriodAfter(names: readonly string[]): number {
  const used = names.map((name) => Number((INDEX_NAME.exec(name) ?? VOLUME_NAME.exec(name))?.[1] ?? -1));
  return Math.max(-1, ...used) + 1;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}

/** Reads a span of a file. Empty when the file is shorter. */
function readSpan(path: string, at: number, sizeBytes: number): Uint8Array {
  if (sizeOf(path) < at + sizeBytes) return new Uint8Array();
  const file = openSync(path, 'r');
  try {
    const to = Buffer.allocUnsafe(sizeBytes);
    return to.subarray(0, readSync(file, to, 0, sizeBytes, at));
  } finally {
    closeSync(file);
  }
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}
