/**
 * Walks the top-level boxes of a file that this server writes by appending: init segments, `uuid` boxes and fragments. It finds out where the
 * whole ones end after the process or the machine died in the middle of one.
 */
import { BOX_HEADER_BYTES } from './box-reader.ts';

/**
 * Reads bytes of a file at once, which is right only in a worker thread.
 * @returns `sizeBytes` bytes, or fewer where the file ends
 */
export type ReadAt = (at: number, sizeBytes: number) => Uint8Array;

/** A step of a walk. */
export type Walked =
  /** A whole box besides fragments. */
  | { readonly type: 'box'; readonly name: 'ftyp' | 'moov' | 'uuid'; readonly at: number; readonly sizeBytes: number }
  /** A whole fragment: `moof` and `mdat`. Only its boxes are known to be whole: {@link readFragment} reads `head`. */
  | {
      readonly type: 'fragment';
      readonly at: number;
      readonly sizeBytes: number;
      /** `moof` and the header of `mdat`. */
      readonly head: Uint8Array;
    }
  /** The last step: what is before `at` is whole, and what follows is the start of something that is not. */
  | { readonly type: 'end'; readonly at: number };

/** The longest `moof` that is read: more samples than any part has. */
export const MAX_MOOF_BYTES = 1 << 20;

/** Usually enough for `moof`, so that a fragment takes one read. */
const READ_AHEAD_BYTES = 1024;

const NAMES = ['ftyp', 'moov', 'uuid'] as const;

/**
 * Walks boxes from `from` to `until` at most, and stops at the first one that is not whole, or that this server does not write. It advances with
 * every step and never throws for any bytes.
 * @param from where a box begins
 * @param until the length of the file, or where to end
 */
export function* walkBoxes(read: ReadAt, from: number, until: number): Generator<Walked, void> {
  let at = from;
  for (;;) {
    const step = stepAt(read, at, until);
    yield step;
    if (step.type === 'end') return;
    at += step.sizeBytes;
  }
}

function stepAt(read: ReadAt, at: number, until: number): Walked {
  const end: Walked = { type: 'end', at };
  const ahead = read(at, Math.max(0, Math.min(READ_AHEAD_BYTES, until - at)));
  const first = headerIn(ahead, 0);
  if (first === undefined || first.sizeBytes > until - at) return end;
  const name = NAMES.find((each) => each === first.name);
  if (name !== undefined) return { type: 'box', name, at, sizeBytes: first.sizeBytes };
  if (first.name !== 'moof' || first.sizeBytes > MAX_MOOF_BYTES) return end;
  const headBytes = first.sizeBytes + BOX_HEADER_BYTES;
  if (headBytes > until - at) return end;
  const head = headBytes <= ahead.length ? ahead.subarray(0, headBytes) : read(at, headBytes);
  const second = headerIn(head, first.sizeBytes);
  if (second?.name !== 'mdat' || first.sizeBytes + second.sizeBytes > until - at) return end;
  return { type: 'fragment', at, sizeBytes: first.sizeBytes + second.sizeBytes, head };
}

/** The size and the type of a box. Undefined when the bytes end before them, or no box has that size. */
function headerIn(bytes: Uint8Array, at: number): { readonly name: string; readonly sizeBytes: number } | undefined {
  if (bytes.length < at + BOX_HEADER_BYTES) return undefined;
  const header = Buffer.from(bytes.buffer, bytes.byteOffset + at, BOX_HEADER_BYTES);
  const sizeBytes = header.readUInt32BE();
  return sizeBytes < BOX_HEADER_BYTES ? undefined : { name: header.toString('latin1', 4), sizeBytes };
}
