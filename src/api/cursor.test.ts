import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ms } from '#lib/units.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

test('a cursor is read as the key it was made from', () => {
  fc.assert(
    fc.property(fc.nat({ max: 8_640_000_000_000_000 }), fc.uuid(), (at, id) => {
      const key = { at: ms(at), id };
      const cursor = encodeCursor('stream-createdAt-desc', key);
      assert.match(cursor, /^[\w-]+$/);
      assert.deepEqual(decodeCursor('stream-createdAt-desc', cursor), key);
    }),
  );
});

const KEY = { at: ms(1), id: '66e2161c-7670-4d05-b71d-da2d6979556f' };

test('a cursor of one list is refused by another, and by another order of the same', () => {
  const cursor = encodeCursor('stream-createdAt-desc', KEY);
  for (const list of ['session-createdAt-desc', 'stream-createdAt-asc', 'stream-lastSeen-desc', 'stream']) {
    assert.throws(() => decodeCursor(list, cursor), { code: 'invalid_cursor' }, list);
  }
});

test('a text that is not a cursor of this server is refused', () => {
  const made = encodeCursor('stream', KEY);
  const others = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.base64String(),
    fc.constantFrom(`${made}=`, ` ${made}`, made.slice(1), `${made.slice(0, 5)}!${made.slice(5)}`, made.toUpperCase()),
  );
  fc.assert(
    fc.property(others, (text) => {
      assert.throws(() => decodeCursor('stream', text), { code: 'invalid_cursor' });
    }),
  );
});
