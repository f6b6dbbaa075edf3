/**
 * Makes the index of a recording again from its volumes alone. All calls block, so they are for commands. The recording must not be
 * running.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type ReadAt, walkBoxes } from '#media/mp4/box-walk.ts';
import { readFragment } from '#media/mp4/fragment-reader.ts';
import { readInit } from '#media/mp4/init-reader.ts';
import { MalformedMp4Error } from '#media/mp4/malformed-mp4.ts';
import type { SampleDefaults } from '#media/mp4/sample-defaults.ts';
import { encodeRecord, WHOLE_INDEX } from './index-file.ts';
import type { InitRecord, SegmentRecord } from './index-record.ts';
import { recordOf } from './record-box.ts';
import { type RecordingIndex, readIndex } from './recording-index.ts';
import { syncFolder } from './recovery.ts';

const VOLUME = /^(.+)\.(\d{1,9})\.mp4$/;
/** The longest box that is read as a record. */
const MAX_RECORD_BYTES = 1 << 21;

/**
 * The sum of the sizes of all fragments in the volumes of a recording, in bytes. A complete index has parts of the same sum.
 * @throws an error of the system when a file cannot be read
 */
export function fragmentBytesIn(folder: string): number {
  let sum = 0;
  for (const name of volumesIn(folder)) {
    reading(join(folder, name), (read, sizeBytes) => {
      for (const step of walkBoxes(read, 0, sizeBytes)) if (step.type === 'fragment') sum += step.sizeBytes;
    });
  }
  return sum;
}

/**
 * Makes the index of a recording from its volumes, and marks the recording as ended. Volumes that do not begin with an init segment and its
 * record are left out. Nothing is written.
 * @returns the index as the bytes of a file, and as it is in memory
 * @throws an error of the system when a file cannot be read
 */
export function indexOfVolumes(folder: string): { readonly bytes: Uint8Array; readonly index: RecordingIndex } {
  const volumes = volumesIn(folder)
    .map((name) => ({ name, period: Number(VOLUME.exec(name)![2]), init: headOf(join(folder, name)) }))
    .filter((volume): volume is typeof volume & { init: InitRecord } => volume.init !== undefined)
    .toSorted((a, b) => a.period - b.period || a.init.rendition - b.init.rendition);
  const known = new Set<string>();
  const records: Uint8Array[] = [];
  for (const { name, init } of volumes) {
    const key = `${init.rendition} ${init.number}`;
    if (!known.has(key)) records.push(encodeRecord(init));
    known.add(key);
    reading(join(folder, name), (read, sizeBytes) => records.push(...recordsOf(read, sizeBytes, init)));
  }
  const bytes = Buffer.concat([...records, encodeRecord({ type: 'end' })]);
  return { bytes, index: readIndex([bytes]) };
}

/** Writes the index of an ended recording, in place of an earlier one. It is durable on return. @throws an error of the system */
export function replaceIndex(folder: string, bytes: Uint8Array): void {
  const temporary = join(folder, `${WHOLE_INDEX}.new`);
  writeFileSync(temporary, bytes, { mode: 0o600, flush: true });
  renameSync(temporary, join(folder, WHOLE_INDEX));
  syncFolder(folder);
}

/** The records of a volume after its head, up to the last whole fragment that belongs to a segment. */
function* recordsOf(read: ReadAt, sizeBytes: number, init: InitRecord): Generator<Uint8Array> {
  const defaults: SampleDefaults = readInit(init.bytes).defaults;
  let segment: SegmentRecord | undefined;
  for (const step of walkBoxes(read, 0, sizeBytes)) {
    if (step.type === 'box' && step.name === 'uuid') {
      const record = recordIn(read, step);
      if (record?.type !== 'segment') continue;
      // The record in the box has no offset: the segment begins where the box ends.
      segment = { ...record, offset: step.at + step.sizeBytes };
      yield encodeRecord(segment);
    }
    if (step.type !== 'fragment' || segment === undefined) continue;
    const fragment = fragmentOf(step.head, defaults);
    if (fragment === undefined) return;
    const { moofBytes, baseDecodeTime, sizes, durations, compositionOffsets, keyframes } = fragment;
    yield encodeRecord({
      type: 'part',
      rendition: init.rendition,
      sizeBytes: step.sizeBytes,
      moofBytes,
      crc32: crc32(read(step.at, step.sizeBytes)),
      offsetTicks: Math.max(0, baseDecodeTime - segment.startTicks),
      samples: { sizes, durations, compositionOffsets, keyframes },
    });
  }
}

/** The init record at the beginning of a volume. Undefined when the file is not a volume of this server. */
function headOf(path: string): InitRecord | undefined {
  let found: InitRecord | undefined;
  reading(path, (read, sizeBytes) => {
    for (const step of walkBoxes(read, 0, sizeBytes)) {
      if (step.type !== 'box') return;
      const record = step.name === 'uuid' ? recordIn(read, step) : undefined;
      if (record?.type === 'init') found = record;
      if (step.name === 'uuid') return;
    }
  });
  return found;
}

function recordIn(read: ReadAt, { at, sizeBytes }: { readonly at: number; readonly sizeBytes: number }) {
  return sizeBytes > MAX_RECORD_BYTES ? undefined : recordOf(read(at, sizeBytes));
}

function fragmentOf(head: Uint8Array, defaults: SampleDefaults) {
  try {
    return readFragment(head, defaults);
  } catch (error) {
    if (error instanceof MalformedMp4Error) return undefined;
    throw error;
  }
}

const volumesIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => VOLUME.test(name));

/** Opens a file, runs a task with it, and closes it. */
function reading(path: string, task: (read: ReadAt, sizeBytes: number) => void): void {
  const file = openSync(path, 'r');
  try {
    const read: ReadAt = (at, sizeBytes) => {
      const to = Buffer.allocUnsafe(sizeBytes);
      return to.subarray(0, readSync(file, to, 0, sizeBytes, at));
    };
    task(read, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}
