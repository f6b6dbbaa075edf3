/**
 * Walks the top-level boxes of a file that this server writes by appending: init segments, `uuid` boxes and fragments. When the process or
 * the machine died while it wrote one, the walk ends after the last whole box.
 */
import { BOX_HEADER_BYTES } from './box-reader.ts';

/**
 * Reads bytes of a file synchronously, so it is for worker threads and commands.
 * @returns `sizeBytes` bytes, or fewer where the file ends
 */
export type ReadAt = (at: number, sizeBytes: number) => Uint8Array;

/** A step of a walk. */
export type Walked =
  /** A whole box that does not belong to a fragment. */
  | { readonly type: 'box'; readonly name: 'ftyp' | 'moov' | 'uuid'; readonly at: number; readonly sizeBytes: number }
  /** A whole fragment: `moof` and `mdat`. Nothing inside these boxes has been checked. `readFragment` reads `head`. */
  | {
      readonly type: 'fragment';
      readonly at: number;
      readonly sizeBytes: number;
      /** `moof` and the header of `mdat`. */
      readonly head: Uint8Array;
    }
  /** The last step: everything before `at` is whole, and after it no whole box follows. */
  | { readonly type: 'end'; readonly at: number };

/** The longest `moof` that is read. It has room for more samples than any part has. */
export const MAX_MOOF_BYTES = 1 << 20;

/** The bytes that are read at once. A `moof` is usually shorter, so that a fragment takes one read. */
const READ_AHEAD_BYTES = 1024;

const NAMES = ['ftyp', 'moov', 'uuid'] as const;

/**
 * Yields the boxes from `from` on, until `until` or the first box that is not whole or that this server does not write. The last step is
 * always `end`. Whatever the bytes are, it advances with every step and throws only what `read` throws.
 * @param from the position at which a box begins
 * @param until the length of the file, or a position before its end
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

/** The size and the type of a box. Undefined when the bytes end before them, or the size is too small for a box. */
function headerIn(bytes: Uint8Array, at: number): { readonly name: string; readonly sizeBytes: number } | undefined {
  if (bytes.length < at + BOX_HEADER_BYTES) return undefined;
  const header = Buffer.from(bytes.buffer, bytes.byteOffset + at, BOX_HEADER_BYTES);
  const sizeBytes = header.readUInt32BE();
  return sizeBytes < BOX_HEADER_BYTES ? undefined : { name: header.toString('latin1', 4), sizeBytes };
}
