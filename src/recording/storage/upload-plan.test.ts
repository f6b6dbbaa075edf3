import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isComplete, periodOf, uploadable, type WriterState } from './upload-plan.ts';

const NAMES = [
  'index.1',
  'source.1.mp4',
  '720p.1.mp4',
  'index.0',
  'source.0.mp4',
  'audio.0.mp4',
  'manifest.json',
  'pictures.1',
];
const none = () => false;
const closed = (...periods: number[]): WriterState => ({ closed: new Set(periods) });

test('the period of a file is the number in its name', () => {
  const names = [
    'index.12',
    'source.3.mp4',
    'a.b.4.mp4',
    'index.5.mp4',
    'index',
    'manifest.json',
    'x.mp4',
    'pictures.1',
  ];
  assert.deepEqual(names.map(periodOf), [12, 3, 4, 5, undefined, undefined, undefined, 1]);
});

test('nothing is uploaded while it is unknown what the writer does', () => {
  assert.deepEqual(uploadable(NAMES, undefined, none), []);
});

test('of a recording that runs, the closed volumes and the manifest are uploaded, and then the index files that name them', () => {
  const stored = new Set<string>();
  const next = (...periods: number[]) => uploadable(NAMES, closed(...periods), (name) => stored.has(name));
  assert.deepEqual(next(), ['manifest.json']);
  assert.deepEqual(next(0), ['manifest.json', 'audio.0.mp4', 'source.0.mp4']);
  stored.add('manifest.json').add('audio.0.mp4');
  assert.deepEqual(next(0), ['source.0.mp4']);
  stored.add('source.0.mp4');
  assert.deepEqual(next(0), ['index.0']);
  assert.deepEqual(next(0, 1), ['index.0', '720p.1.mp4', 'pictures.1', 'source.1.mp4']);
});

test('of a recording that has ended, everything is uploaded, and the whole index at last', () => {
  const names = ['index', ...NAMES, 'index.new', '.1-1.tmp'];
  const stored = new Set<string>();
  const isStored = (name: string) => stored.has(name);
  const first = uploadable(names, 'ended', isStored);
  assert.deepEqual(first.toSorted(), NAMES.filter((name) => !name.startsWith('index.')).toSorted());
  for (const name of first) stored.add(name);
  assert.equal(isComplete(names, isStored), false);
  assert.deepEqual(uploadable(names, 'ended', isStored), ['index']);
  stored.add('index');
  assert.deepEqual(uploadable(names, 'ended', isStored), []);
  assert.equal(isComplete(names, isStored), true);
});

test('whatever is uploaded in whatever order, every index in the bucket names only what is there', () => {
  const file = fc.oneof(
    fc.tuple(fc.constantFrom('source', 'audio', 'index', '~0'), fc.nat(5)).map(([id, period]) => `${id}.${period}.mp4`),
    fc.nat(5).map((period) => `index.${period}`),
  );
  fc.assert(
    fc.property(fc.uniqueArray(file), fc.boolean(), fc.array(fc.nat(3)), (files, hasEnded, choices) => {
      const names = ['manifest.json', ...files, ...(hasEnded ? ['index'] : [])];
      const writer = hasEnded ? 'ended' : closed(0, 1, 2, 3);
      const stored = new Set<string>();
      for (let step = 0; ; step += 1) {
        const next = uploadable(names, writer, (name) => stored.has(name));
        if (next.length === 0) break;
        const name = next[(choices[step] ?? 0) % next.length]!;
        stored.add(name);
        if (name === 'index') assert.equal(stored.size, names.filter((each) => !/^index\.\d+$/.test(each)).length);
        else if (/^index\.\d+$/.test(name)) {
          const needed = names.filter((each) => each.endsWith('.mp4') && periodOf(each) === periodOf(name));
          assert.ok(stored.has('manifest.json') && needed.every((each) => stored.has(each)));
        }
      }
      const expected = names.filter((name) =>
        hasEnded ? !/^index\.\d+$/.test(name) : name === 'manifest.json' || periodOf(name)! <= 3,
      );
      assert.deepEqual([...stored].sort(), expected.sort());
    }),
  );
});
