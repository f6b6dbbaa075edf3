import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { newMediaPath } from '#domain/ids.ts';
import { recordingsFolder, WrittenRecording } from '#test/support/recording-folder.ts';
import { exists, MARKER_NAME, mustBeThere } from './recordings-folder.ts';

/** A mount point, and the place of recordings in it. */
function setUp(t: { after(end: () => void): void }) {
  const root = recordingsFolder(t);
  const folder = join(root, 'mounted');
  mkdirSync(folder);
  const noteFile = join(root, 'note');
  const place = (of = folder) => ({ folder: of, noteFile });
  const unmount = () => {
    renameSync(folder, join(root, 'volume'));
    mkdirSync(folder);
  };
  const mount = () => {
    rmSync(folder, { recursive: true });
    renameSync(join(root, 'volume'), folder);
  };
  return { folder, noteFile, place, mount, unmount };
}

test('the volume of recordings must be mounted once it was used, and nothing is written while it is not', (t) => {
  const { folder, place, mount, unmount } = setUp(t);
  for (const _ of ['the first time', 'and again']) mustBeThere(place());
  unmount();
  assert.throws(() => mustBeThere(place()), /mount its volume/);
  rmSync(folder, { recursive: true });
  assert.throws(() => mustBeThere(place()), /mount its volume/);
  assert.equal(exists(folder), false);
  mkdirSync(folder);
  mount();
  mustBeThere(place());
  assert.deepEqual(readdirSync(folder), [MARKER_NAME]);
});

test('a mount point that was marked before its volume was mounted is not taken for the volume', (t) => {
  const { folder, noteFile, place, mount, unmount } = setUp(t);
  const marker = join(folder, MARKER_NAME);
  mustBeThere(place());
  new WrittenRecording(folder);
  // The volume is mounted over the mount point, and the operator permits it.
  unmount();
  assert.throws(() => mustBeThere(place()), /mount its volume/);
  writeFileSync(marker, '');
  mustBeThere(place());
  mustBeThere(place());
  const mark = readFileSync(marker, 'utf8');
  mount();
  const before = readdirSync(folder);
  assert.throws(() => mustBeThere(place()), /not the one that was used last/);
  assert.deepEqual(readdirSync(folder), before);
  writeFileSync(marker, mark);
  mustBeThere(place());
  writeFileSync(marker, 'another');
  rmSync(noteFile);
  mustBeThere(place());
});

test('a folder that an earlier version marked, or that another server uses as well, is used as it is', (t) => {
  const { folder, noteFile, place, unmount } = setUp(t);
  writeFileSync(join(folder, MARKER_NAME), '');
  writeFileSync(noteFile, folder);
  mustBeThere(place());
  mustBeThere({ folder, noteFile: `${noteFile}-of-another` });
  mustBeThere(place());
  unmount();
  assert.throws(() => mustBeThere(place()), /mount its volume/);
});

/** A thread that marks one place after another. Before each, it waits until all threads are there. */
const MARKING_THREAD = `
  const { workerData: { module, places, threads, arrived } } = require('node:worker_threads');
  import(module).then(({ mustBeThere }) => {
    for (const [index, place] of places.entries()) {
      Atomics.add(arrived, index, 1);
      Atomics.notify(arrived, index);
      for (let seen = 0; (seen = Atomics.load(arrived, index)) < threads; ) Atomics.wait(arrived, index, seen);
      mustBeThere(place);
    }
  });`;

test('servers that mark their shared folder at the same time agree on its mark', async (t) => {
  const root = recordingsFolder(t);
  const [threads, rounds] = [4, 60];
  const arrived = new Int32Array(new SharedArrayBuffer(4 * rounds));
  const module = new URL('recordings-folder.ts', import.meta.url).href;
  for (let round = 0; round < rounds; round += 1) {
    mkdirSync(join(root, `shared-${round}`));
    if (round % 2 === 0) writeFileSync(join(root, `shared-${round}`, MARKER_NAME), '');
  }
  const placesOf = (server: number) =>
    Array.from({ length: rounds }, (_, round) => ({
      folder: join(root, `shared-${round}`),
      noteFile: join(root, `note-${server}-${round}`),
    }));
  const ends = Array.from({ length: threads }, async (_, server) => {
    const workerData = { module, places: placesOf(server), threads, arrived };
    const worker = new Worker(MARKING_THREAD, { eval: true, workerData });
    await once(worker, 'exit');
  });
  await Promise.all(ends);
  for (let server = 0; server < threads; server += 1) {
    for (const { folder, noteFile } of placesOf(server)) {
      const mark = readFileSync(join(folder, MARKER_NAME), 'utf8');
      assert.ok(mark.length > 0);
      assert.equal(readFileSync(noteFile, 'utf8'), `${folder}\n${mark}`);
    }
  }
});

test('a folder that could not be marked, because the disk was full or the power failed, can be marked later', (t) => {
  const { folder, noteFile, place } = setUp(t);
  const marker = join(folder, MARKER_NAME);
  const data = join(folder, 'data');
  symlinkSync(join(data, 'note'), noteFile);
  assert.throws(() => mustBeThere(place()), { code: 'ENOENT' });
  assert.equal(readFileSync(marker, 'utf8'), '');
  mkdirSync(data);
  const { atime, mtime } = statSync(marker);
  utimesSync(marker, atime, mtime);
  mustBeThere(place());
  const mark = readFileSync(marker, 'utf8');
  // The power failed when the note had been written, but not yet the mark.
  writeFileSync(marker, '');
  utimesSync(marker, atime, mtime);
  mustBeThere(place());
  assert.equal(readFileSync(marker, 'utf8'), mark);
  // When an operator empties the file, it gets another mark.
  writeFileSync(marker, '');
  mustBeThere(place());
  assert.notEqual(readFileSync(marker, 'utf8'), mark);
});

test('an operator can begin with an empty volume, and can move recordings', (t) => {
  const { folder, place, unmount } = setUp(t);
  mustBeThere(place());
  unmount();
  writeFileSync(join(folder, MARKER_NAME), '');
  mustBeThere(place());
  const elsewhere = join(folder, 'elsewhere');
  mustBeThere(place(elsewhere));
  rmSync(elsewhere, { recursive: true });
  assert.throws(() => mustBeThere(place(elsewhere)), /mount its volume/);
  new WrittenRecording(elsewhere);
  mustBeThere(place(elsewhere));
});

test('a folder that the system cannot look up is not taken for missing', (t) => {
  const path = join(recordingsFolder(t), newMediaPath());
  assert.equal(exists(path), false);
  symlinkSync(path, path);
  assert.throws(() => exists(path), { code: 'ELOOP' });
});
