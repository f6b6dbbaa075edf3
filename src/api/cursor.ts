/**
 * The cursor of a list: the position where the previous page ended, as text that is opaque to clients.
 */
import { MillraceError } from '#domain/errors.ts';
import { ms } from '#lib/units.ts';
import type { PageKey } from '#store/page.ts';

const CONTENT = /^([a-zA-Z-]+)\.(0|[1-9]\d{0,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Writes a position in a list as text.
 * @param list names the list and its order, in letters and hyphens; the cursor is valid for this list only
 * @param key the position, whose `id` must be a UUID
 */
export function encodeCursor(list: string, key: PageKey): string {
  return Buffer.from(`${list}.${key.at}.${key.id}`).toString('base64url');
}

/** Reads a cursor. @throws {MillraceError} `invalid_cursor` for any text that {@link encodeCursor} did not make for this list */
export function decodeCursor(list: string, cursor: string): PageKey {
  const match = CONTENT.exec(Buffer.from(cursor, 'base64url').toString());
  const key = match && { at: ms(Number(match[2])), id: match[3]! };
  // The decoder skips characters that are not base64url. Encoding again detects them.
  if (!key || encodeCursor(match[1]!, key) !== cursor) {
    throw new MillraceError(
      'invalid_cursor',
      'The query parameter cursor was not issued by this server; follow the URL of the Link header, or leave it out to start again.',
    );
  }
  if (match[1] !== list) {
    throw new MillraceError(
      'invalid_cursor',
      'The query parameter cursor belongs to another list, or to another order of this one; leave it out to start again.',
    );
  }
  return key;
}
