import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CountedLines } from './counted-lines.ts';
import { createLogger } from './logger.ts';

function recorded() {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  return { lines, counted: new CountedLines(logger) };
}

const countsOf = ({ msg, code, count, networks }: Record<string, unknown>) => [msg, code, count, networks];

test('the first occurrence of a kind is logged at once with its example, the others as one count every ten seconds', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { lines, counted } = recorded();
  for (let index = 0; index < 5; index++) {
    counted.note('info', 'publishers refused', { code: 'a' }, { address: `192.0.${index}.1`, example: { index } });
  }
  counted.note('info', 'publishers refused', { code: 'b' }, { address: '192.0.2.1' });
  assert.deepEqual(lines.map(countsOf), [
    ['publishers refused', 'a', 1, 1],
    ['publishers refused', 'b', 1, 1],
  ]);
  assert.equal(lines[0]!.index, 0);
  t.mock.timers.tick(10_000);
  assert.deepEqual(lines.slice(2).map(countsOf), [['publishers refused', 'a', 4, 4]]);
  t.mock.timers.tick(10_000);
  assert.equal(lines.length, 3, 'nothing more happened');
  counted.note('info', 'publishers refused', { code: 'a' }, { address: '192.0.2.1' });
  assert.equal(lines.length, 4, 'after a quiet interval the next occurrence is logged at once again');
});

test('ten thousand refusals a second make at most one line a second', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { lines, counted } = recorded();
  const SECONDS = 20;
  for (let second = 0; second < SECONDS; second++) {
    for (let index = 0; index < 10_000; index++) {
      counted.note('info', 'publishers refused', { code: 'a' }, { address: `198.51.${index % 256}.${index % 200}` });
    }
    t.mock.timers.tick(1000);
  }
  assert.ok(lines.length <= SECONDS, `${lines.length} lines`);
  counted[Symbol.dispose]();
  const total = lines.reduce((sum, { count }) => sum + Number(count), 0);
  assert.equal(total, SECONDS * 10_000, 'no refusal is missing from the counts');
});

test('networks are counted by site, and at most a thousand are counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { lines, counted } = recorded();
  for (let index = 0; index < 5000; index++) {
    counted.note('warn', 'connections failed', {}, { address: `10.${index >> 8}.${index & 255}.1`, count: 2 });
  }
  counted[Symbol.dispose]();
  assert.deepEqual(
    lines.map(({ count, networks }) => [count, networks]),
    [
      [2, 1],
      [9998, 1000],
    ],
  );
  const same = recorded();
  for (let host = 0; host < 100; host++) same.counted.note('warn', 'x', {}, { address: `192.0.2.${host}` });
  same.counted[Symbol.dispose]();
  assert.equal(same.lines[1]!.networks, 1);
});
