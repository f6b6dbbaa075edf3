import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');

// The folders of this repository in which the documentation or a test installs packages.
for (const folder of ['.', 'test/openapi']) {
  it(`npm runs no install script of a dependency in ${folder}`, () => {
    // `npm test` passes its own settings in the environment, where they would override the .npmrc of the folder.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name)));
    const setting = execFileSync('npm', ['config', 'get', 'ignore-scripts'], { cwd: join(ROOT, folder), env });
    assert.equal(setting.toString().trim(), 'true');
  });
}
