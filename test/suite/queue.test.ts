import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { filesLeft, makeQueue, takeFile } from './queue.ts';

it('hands out each file once, in order, and lists those that are left', () => {
  const queue = makeQueue(['b/x y.test.ts', 'a.test.ts', 'c.test.ts']);
  const first = takeFile(queue.folder)!;
  assert.equal(first.file, 'b/x y.test.ts');
  assert.deepEqual(filesLeft(queue.folder), { waiting: ['a.test.ts', 'c.test.ts'], unfinished: ['b/x y.test.ts'] });
  first.finish();
  const others = Array.from({ length: 3 }, () => takeFile(queue.folder));
  assert.deepEqual(
    others.map((taken) => taken?.file),
    ['a.test.ts', 'c.test.ts', undefined],
  );
  for (const taken of others) taken?.finish();
  assert.deepEqual(filesLeft(queue.folder), { waiting: [], unfinished: [] });
  queue[Symbol.dispose]();
  assert.equal(existsSync(queue.folder), false);
});

it('hands out each file once to several threads that take at the same time', async () => {
  const files = Array.from({ length: 300 }, (_, number) => `${number}.test.ts`);
  using queue = makeQueue(files);
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.module).then(({ takeFile }) => {
      const taken = [];
      for (let next = takeFile(workerData.folder); next !== undefined; next = takeFile(workerData.folder)) taken.push(next.file);
      parentPort.postMessage(taken);
    });`;
  const workerData = { module: import.meta.resolve('./queue.ts'), folder: queue.folder };
  const workers = Array.from({ length: 3 }, () => new Worker(source, { eval: true, workerData }));
  const taken = await Promise.all(
    workers.map((worker) => new Promise<string[]>((resolve) => worker.once('message', resolve))),
  );
  assert.deepEqual(taken.flat().sort(), files.toSorted());
});
