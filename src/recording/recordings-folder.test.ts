import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newMediaPath } from '#domain/ids.ts';
import { recordingsFolder, WrittenRecording } from '#test/support/recording-folder.ts';
import { exists, MARKER_NAME, mustBeThere } from './recordings-folder.ts';

/** A mount point, and the place of recordings in it. */
function setUp(t: { after(end: () => void): void }) {
  const root = recordingsFolder(t);
  const folder = join(root, 'mounted');
  mkdirSync(folder);
  const noteFile = join(root, 'note');
  /** The place as a new process finds it. */
  const place = (of = folder) => ({ folder: of, marking: { noteFile, newMark: randomUUID() } });
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
  // The volume is mounted over it, and the operator begins with it.
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
  mustBeThere({ folder, marking: { noteFile: `${noteFile}-of-another`, newMark: 'another' } });
  mustBeThere(place());
  unmount();
  assert.throws(() => mustBeThere(place()), /mount its volume/);
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
