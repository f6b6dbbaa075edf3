import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readTime } from './read-time.ts';

const before = process.env.TZ;
process.env.TZ = 'America/New_York';
after(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

const read = (text: string): string => new Date(readTime({ from: text }, 'from')!).toISOString();

test('a time without a time zone is in UTC, whatever the time zone of the server is', () => {
  for (const [text, time] of [
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T00:00', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T02:03:04', '2026-11-01T02:03:04.000Z'],
    ['2026-11-01T02:03:04.5', '2026-11-01T02:03:04.500Z'],
    ['2026-11-01T02:03:04Z', '2026-11-01T02:03:04.000Z'],
    ['2026-11-01T02:03:04.123456+02:00', '2026-11-01T00:03:04.123Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['1795175107399', '2026-11-20T11:45:07.399Z'],
  ] as const) {
    assert.equal(read(text), time, text);
  }
});

test('a day that does not exist, and everything else that is not ISO 8601, is refused', () => {
  for (const text of [
    '2026-02-29',
    '2026-02-30',
    '2026-11-31',
    '2026-11-31T00:00:00Z',
    '2026-13-01',
    '2026-00-10',
    '2026-11-01T25:00:00Z',
    '2026-11-01 (foo',
    '2026-11-01 00:00:00',
    '2026-11-01T',
    '2026-11',
    'yesterday',
    '-1',
    '',
  ]) {
    assert.throws(() => read(text), { code: 'invalid_request' }, text);
  }
});
