/**
 * The cursor of a list: where the page before it ended, as text that clients pass back unread.
 */
import { MillraceError } from '#domain/errors.ts';
import { ms } from '#lib/units.ts';
import type { PageKey } from '#store/store.ts';

const CONTENT = /^(0|[1-9]\d{0,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** @param key whose `id` is a UUID */
export function encodeCursor(key: PageKey): string {
  return Buffer.from(`${key.createdAt}.${key.id}`).toString('base64url');
}

/** @throws {MillraceError} `invalid_cursor` for anything {@link encodeCursor} did not make */
export function decodeCursor(cursor: string): PageKey {
  const match = CONTENT.exec(Buffer.from(cursor, 'base64url').toString());
  const key = match && { createdAt: ms(Number(match[1])), id: match[2]! };
  // The decoder skips characters that are not base64url, so only the way back proves that nothing was there.
  if (!key || encodeCursor(key) !== cursor) {
    throw new MillraceError(
      'invalid_cursor',
      'The query parameter cursor is not one this server gave; follow the URL of the Link header, or leave it out to start again.',
    );
  }
  return key;
}
