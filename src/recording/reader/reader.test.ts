import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtempDisposable, open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { newMediaPath } from '#domain/ids.ts';
import { indexName, volumeName } from '#recording/index-file.ts';
import { LocalFileReader } from './reader.ts';

test('media is read while the index of another recording takes as long as it likes', async () => {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await mkdtempDisposable(join(tmpdir(), 'millrace-reader-')));
  const reader = parts.use(new LocalFileReader({ folder: folder.path }));
  const [slow, other] = [newMediaPath(), newMediaPath()];
  for (const path of [slow, other]) await mkdir(join(folder.path, path));
  // The thread that opens a pipe waits until somebody writes to it.
  const pipe = join(folder.path, slow, indexName(0));
  execFileSync('mkfifo', [pipe]);
  await writeFile(join(folder.path, other, volumeName('source', 0)), 'a segment');

  const movie = reader.movie(slow, {
    recording: slow,
    renditions: ['source'],
    fromSegment: 0,
    untilSegment: 1,
    expectedSamples: [1],
    span: { from: 0, until: 1 },
  });
  const media = await reader.read(other, volumeName('source', 0), 2, 9).catch((error: unknown) => error);
  await (await open(pipe, 'w')).close();
  assert.equal(await movie, undefined);
  assert.ok(media instanceof Uint8Array, String(media));
  assert.equal(Buffer.from(media).toString(), 'segment');
});
