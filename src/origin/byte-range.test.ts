import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRange, slicePieces } from './byte-range.ts';

test('a single range is parsed as the RFC defines it', () => {
  const part = (first: number, last: number) => ({ type: 'part', first, last });
  const table: readonly [string | undefined, object][] = [
    [undefined, { type: 'whole' }],
    ['bytes=0-9', part(0, 9)],
    ['bytes=5-', part(5, 99)],
    ['bytes=-10', part(90, 99)],
    ['bytes=-1000', part(0, 99)],
    ['bytes=90-1000', part(90, 99)],
    ['bytes=99-99', part(99, 99)],
    ['BYTES= 0-0', part(0, 0)],
    ['bytes=100-', { type: 'unsatisfiable' }],
    ['bytes=-0', { type: 'unsatisfiable' }],
  ];
  for (const [header, range] of table) assert.deepEqual(parseRange(header, 100), range, header ?? 'no header');
});

test('several ranges, another unit or an invalid range give the whole resource', () => {
  for (const header of ['bytes=0-1,3-4', 'lines=0-1', 'bytes=', 'bytes=-', 'bytes=9-1', 'bytes=a-b', '0-1', '']) {
    assert.deepEqual(parseRange(header, 100), { type: 'whole' }, header);
  }
});

test('a range of an empty resource cannot be satisfied', () => {
  assert.deepEqual(parseRange('bytes=0-', 0), { type: 'unsatisfiable' });
});

test('slices hold the requested bytes and share the memory of the pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: 1 }), fc.nat(), fc.nat(), (pieces, a, b) => {
      const whole = Buffer.concat(pieces);
      const first = whole.length === 0 ? 0 : a % whole.length;
      const last = whole.length === 0 ? -1 : first + (b % (whole.length - first));
      const slice = slicePieces(pieces, first, last);
      assert.deepEqual(Buffer.concat(slice), whole.subarray(first, last + 1));
      assert.ok(slice.every((part) => part.length > 0 && pieces.some((piece) => piece.buffer === part.buffer)));
    }),
  );
});
