import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

const MODULE = join(import.meta.dirname, 'memory-folder.ts');
/** A program that makes the folder and a file in it. It prints the path of the folder, or nothing where there is no memory for it. */
const MAKE = `
  import { writeFileSync } from 'node:fs';
  import { makeMemoryFolder } from ${JSON.stringify(MODULE)};
  const folder = makeMemoryFolder();
  if (folder !== undefined) writeFileSync(folder + '/file', '');
  process.stdout.write(folder ?? '');`;
const ENDS = { 'by itself': '', 'by a signal': `process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000);` };

for (const [how, end] of Object.entries(ENDS)) {
  it(`the folder is removed when its process ends ${how}`, (t) => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', MAKE + end], {
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    if (stdout === '') return t.skip('there is no /dev/shm, or too little space in it');
    assert.match(stdout, /^\/dev\/shm\/millrace-tests-\w+$/);
    assert.equal(existsSync(stdout), false);
  });
}
