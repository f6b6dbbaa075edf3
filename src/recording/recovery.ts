/**
 * Recovery: makes the files of a recording right after its process or its machine died. Runs in the writer thread, before anything is
 * appended.
 *
 * What a `sync` record follows is durable and is trusted. Of the rest, a part is adopted only while the records before it are whole and its
 * bytes have the CRC that its record states. Everything else is cut off, so that a torn part is never shown.
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
import {
  encodeRecord,
  type IndexRecord,
  indexName,
  readRecords,
  type SegmentRecord,
  volumeName,
  WHOLE_INDEX,
} from './index-file.ts';
import { type RecordingIndex, readIndex } from './recording-index.ts';

/** What was found of a recording. */
export interface Recovered {
  readonly index: RecordingIndex;
  /** The number of the first period that no file has. */
  readonly nextPeriod: number;
}

const INDEX_NAME = /^index\.(\d{1,9})$/;
const VOLUME_NAME = /^.+\.(\d{1,9})\.mp4$/;

/** Makes the files of a recording right, and reads its index. A folder without any index is an empty recording. */
export function recover(folder: string): Recovered {
  const names = readdirSync(folder);
  const whole = names.includes(WHOLE_INDEX) ? readWhole(folder) : undefined;
  if (whole !== undefined) {
    for (const name of names) if (INDEX_NAME.test(name)) rmSync(join(folder, name));
    return { index: whole, nextPeriod: nextPeriodAfter(names) };
  }
  const adopted = new Adoption(folder);
  for (const period of periodsOf(names)) adopted.takeFile(period);
  adopted.cutVolumes(names);
  return { index: readIndex(adopted.files), nextPeriod: nextPeriodAfter(names) };
}

/** Makes one index file of those of all periods, which then go. The recording must have no open files. */
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

/** The index of a recording that may be running in this process, without changing its files. Undefined when there is none. */
export function readIndexOf(folder: string): RecordingIndex | undefined {
  const files = readIndexFiles(folder);
  return files.length === 0 ? undefined : readIndex(files);
}

/** The index files of a recording in order. Empty when there are none. */
export function readIndexFiles(folder: string): readonly Uint8Array[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder);
  if (names.includes(WHOLE_INDEX)) return [readFileSync(join(folder, WHOLE_INDEX))];
  return periodsOf(names).map((period) => readFileSync(join(folder, indexName(period))));
}

/** Writes all bytes, of which the system may take some at a time. */
export function writeAll(file: number, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) at += writeSync(file, bytes, at, bytes.length - at);
}

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Takes the index files one after another, as far as they are true. */
class Adoption {
  readonly files: Uint8Array[] = [];
  readonly #folder: string;
  readonly #ids = new Map<number, string>();
  /** Where the newest segment of each rendition ends, by what was adopted. */
  readonly #ends = new Map<number, { readonly volume: string; at: number }>();
  /** The bytes of each volume that are in the index. */
  readonly #volumes = new Map<string, number>();
  /** Whether nothing was left out so far. Once something was, nothing else is adopted of which it is unknown whether it was durable. */
  #isComplete = true;

  constructor(folder: string) {
    this.#folder = folder;
  }

  takeFile(period: number): void {
    const path = join(this.#folder, indexName(period));
    const bytes = readFileSync(path);
    const durableBytes = endOfLastSync(bytes);
    let takenBytes = 0;
    readRecords(bytes, (record, end) => {
      if (end > durableBytes && (!this.#isComplete || !this.#isTrue(record))) this.#isComplete = false;
      else {
        this.#note(record);
        takenBytes = end;
      }
    });
    if (takenBytes < bytes.length) this.#isComplete = false;
    this.files.push(bytes.subarray(0, takenBytes));
    if (takenBytes === bytes.length && takenBytes === durableBytes) return;
    truncateSync(path, takenBytes);
    this.#confirm(path);
  }

  /**
   * Removes what is in no record: the end of a torn volume, and volumes that no record of their period names. A volume whose period has lost
   * its index file is kept, because `recordings check` can make the index again.
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
      else if (statSync(path).size > endBytes) truncateSync(path, endBytes);
    }
  }

  #note(record: IndexRecord): void {
    if (record.type === 'init') this.#ids.set(record.rendition, record.id);
    if (record.type === 'segment') {
      const volume = this.#volumeOf(record);
      this.#ends.set(record.rendition, { volume, at: record.offset });
      this.#volumes.set(volume, record.offset);
    }
    if (record.type === 'part') {
      const end = this.#ends.get(record.rendition);
      if (end === undefined) return;
      end.at += record.sizeBytes;
      this.#volumes.set(end.volume, end.at);
    }
  }

  /** Whether the volumes have what a record says. */
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

  /** Makes what was adopted durable, so that it need not be looked at again. */
  #confirm(path: string): void {
    for (const name of this.#volumes.keys()) syncFile(join(this.#folder, name));
    const file = openSync(path, 'a');
    try {
      writeAll(file, encodeRecord({ type: 'sync' }));
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

/** Where the last `sync` record ends. 0 when there is none. */
function endOfLastSync(bytes: Uint8Array): number {
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

/** Reads a span of a file, or what there is of it. */
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
