import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  const place = { folder, noteFile: join(root, 'note') };
  const unmount = () => {
    renameSync(folder, join(root, 'volume'));
    mkdirSync(folder);
  };
  const mount = () => {
    rmSync(folder, { recursive: true });
    renameSync(join(root, 'volume'), folder);
  };
  return { place, mount, unmount };
}

test('the volume of recordings must be mounted once it was used, and nothing is written while it is not', (t) => {
  const { place, mount, unmount } = setUp(t);
  for (const _ of ['the first time', 'and again']) mustBeThere(place);
  unmount();
  assert.throws(() => mustBeThere(place), /mount its volume/);
  rmSync(place.folder, { recursive: true });
  assert.throws(() => mustBeThere(place), /mount its volume/);
  assert.equal(exists(place.folder), false);
  mkdirSync(place.folder);
  mount();
  mustBeThere(place);
  assert.deepEqual(readdirSync(place.folder), [MARKER_NAME]);
});

test('an operator can begin with an empty volume, and can move recordings', (t) => {
  const { place, unmount } = setUp(t);
  mustBeThere(place);
  unmount();
  writeFileSync(join(place.folder, MARKER_NAME), '');
  mustBeThere(place);
  const elsewhere = { ...place, folder: join(place.folder, 'elsewhere') };
  mustBeThere(elsewhere);
  rmSync(elsewhere.folder, { recursive: true });
  assert.throws(() => mustBeThere(elsewhere), /mount its volume/);
  new WrittenRecording(elsewhere.folder);
  mustBeThere(elsewhere);
});

test('a folder that the system cannot look up is not taken for missing', (t) => {
  const path = join(recordingsFolder(t), newMediaPath());
  assert.equal(exists(path), false);
  symlinkSync(path, path);
  assert.throws(() => exists(path), { code: 'ELOOP' });
});
