/**
 * Records of the index inside volumes: a `uuid` box (ISO/IEC 14496-12 §11.1) after each init segment repeats its record, and one before the
 * first part of each segment repeats the record of the segment. So an index that is lost can be made again from the volumes alone.
 */
import { encodeRecord, readRecords } from './index-file.ts';
import type { IndexRecord, InitRecord, SegmentRecord } from './index-record.ts';

/** The extended type of the `uuid` boxes of this server. */
const UUID = Buffer.from('5c1d3b0e9f6f4ae2b1f7a2d36c8e4b90', 'hex');
const HEADER_BYTES = 8 + UUID.length;

/** Returns a record as a box of a volume. */
export function recordBox(record: InitRecord | SegmentRecord): Uint8Array {
  const content = encodeRecord(record);
  const box = Buffer.alloc(HEADER_BYTES + content.length);
  box.writeUInt32BE(box.length, 0);
  box.write('uuid', 4, 'latin1');
  box.set(UUID, 8);
  box.set(content, HEADER_BYTES);
  return box;
}

/** The record in a whole box. Undefined when the box is not from this server, or is damaged. */
export function recordOf(box: Uint8Array): IndexRecord | undefined {
  if (box.length < HEADER_BYTES || !UUID.equals(box.subarray(8, HEADER_BYTES))) return undefined;
  let found: IndexRecord | undefined;
  readRecords(box.subarray(HEADER_BYTES), (record) => {
    found ??= record;
  });
  return found;
}

/**
 * The beginning of a volume: the init segment, so that the file can be played by itself, and the box with the record of the init segment.
 */
export const volumeHead = (init: InitRecord): Uint8Array => Buffer.concat([init.bytes, recordBox(init)]);
