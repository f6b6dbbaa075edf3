/**
 * Byte ranges of a media resource (RFC 9110 §14).
 */

/** What to send of a resource. */
export type ByteRange =
  | { readonly type: 'whole' }
  | { readonly type: 'part'; readonly first: number; readonly last: number } // both included
  | { readonly type: 'unsatisfiable' };

/**
 * Reads a `Range` header. Only one range is ever served: several, another unit or anything malformed means the whole
 * resource, as the RFC lets a server decide.
 * @param sizeBytes of the whole resource
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

/** The pieces that make up bytes `first` to `last`, both included; they share the memory of the given ones. */
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
