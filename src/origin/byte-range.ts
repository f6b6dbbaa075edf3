/**
 * Byte ranges of a media resource (RFC 9110 §14).
 */

/** The bytes to send of a resource. */
export type ByteRange =
  | { readonly type: 'whole' }
  | { readonly type: 'part'; readonly first: number; readonly last: number } // both included
  | { readonly type: 'unsatisfiable' };

/**
 * Parses a `Range` header. Only a single range is served. For several ranges, another unit or a malformed header the whole resource is
 * sent, as the RFC allows.
 * @param sizeBytes the size of the whole resource
 */
export function parseRange(header: string | undefined, sizeBytes: number): ByteRange {
  const match = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (from === '' && to === '') return { type: 'whole' };
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return { type: 'whole' };
  return first <= last ? { type: 'part', first, last } : { type: 'unsatisfiable' };
}

/** Cuts bytes `first` to `last`, both included, out of the pieces, and shares their memory. */
export function slicePieces(pieces: readonly Uint8Array[], first: number, last: number): Uint8Array[] {
  const slice: Uint8Array[] = [];
  let start = 0;
  for (const piece of pieces) {
    const from = Math.max(first - start, 0);
    const to = Math.min(last + 1 - start, piece.length);
    if (from < to) slice.push(piece.subarray(from, to));
    start += piece.length;
  }
  return slice;
}
