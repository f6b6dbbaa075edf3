import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { nodeIdOf } from './node-id.ts';
import { StoreOpenError } from './open-error.ts';

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-node-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it('creates one id for a folder and keeps it, readable only by its owner', (t) => {
  const folder = join(newFolder(t), 'not', 'yet');
  const id = nodeIdOf(folder);
  assert.equal(nodeIdOf(folder), id);
  assert.notEqual(nodeIdOf(newFolder(t)), id);
  assert.deepEqual(readdirSync(folder), ['node-id']);
  assert.equal(statSync(join(folder, 'node-id')).mode & 0o777, 0o600);
});

it('refuses a file that does not hold an id', (t) => {
  const folder = newFolder(t);
  for (const text of ['', 'me', '0123']) {
    writeFileSync(join(folder, 'node-id'), text);
    assert.throws(
      () => nodeIdOf(folder),
      (error) => error instanceof StoreOpenError && error.code === 'no_node_id',
    );
  }
});
