import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MillraceError } from '#domain/errors.ts';
import { parseDirectives } from './directives.ts';

const refused = (error: unknown) => error instanceof MillraceError && error.code === 'invalid_request';

test('directives are read, and everything else in the query is ignored', () => {
  const table: [Record<string, unknown>, object][] = [
    [{}, {}],
    [{ _HLS_msn: '12' }, { msn: 12 }],
    [
      { _HLS_msn: '12', _HLS_part: '0' },
      { msn: 12, part: 0 },
    ],
    [{ _HLS_skip: 'YES' }, { skip: true }],
    [
      { _HLS_skip: 'v2', _HLS_msn: '0' },
      { msn: 0, skip: true },
    ],
    [{ _HLS_skip: 'NO' }, {}],
    [{ _HLS_push: '1', _HLS_report: '/x', token: 'abc', _HLS_msn: '7' }, { msn: 7 }],
    [{ _HLS_primary_id: ['a', 'b'] }, {}],
  ];
  for (const [query, directives] of table) assert.deepEqual(parseDirectives(query), directives);
});

test('a part without its segment is refused', () => {
  assert.throws(() => parseDirectives({ _HLS_part: '1' }), refused);
});

test('a number that is not a single decimal integer is refused', () => {
  for (const text of ['', '-1', '1.5', '1e3', '0x1', ' 1', '1 ', 'NaN', '9'.repeat(17), ['1', '2'], 'undefined']) {
    assert.throws(() => parseDirectives({ _HLS_msn: text }), refused);
    assert.throws(() => parseDirectives({ _HLS_msn: '1', _HLS_part: text }), refused);
  }
});

test('for any query, numbers are read exactly or the request is refused', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.nat().map(String)), fc.option(fc.nat(), { nil: undefined }), (text, part) => {
      const query = { _HLS_msn: text, ...(part === undefined ? {} : { _HLS_part: String(part) }) };
      try {
        const directives = parseDirectives(query);
        assert.ok(Number.isSafeInteger(directives.msn) && Number(text) === directives.msn);
        assert.equal(directives.part, part);
      } catch (error) {
        assert.ok(refused(error) && !/^\d{1,15}$/.test(text));
      }
    }),
  );
});
