/**
 * Installs a clone as the README shows, with the system's npm, and reports how long it takes to install, start and stop. Run by
 * `npm run test:installs`.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { dataFolder } from '#test/cli/millrace.ts';
import { runUntilReady } from '#test/support/shell.ts';
import { blocksRunBy } from '#test/support/shell-blocks.ts';
import { folderMib } from './folder-size.ts';

const ROOT = join(import.meta.dirname, '..');
/** The system's programs, without the Node of this clone. */
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';

for (const { page, commands } of blocksRunBy('packaging/clone.test.ts')) {
  test(`${page}: a clone installs without a warning and serves on the Node that it brings`, async (t) => {
    const clone = join(await dataFolder(t), 'clone');
    await promisify(execFile)('git', ['clone', '--quiet', ROOT, clone]);
    const beganAt = performance.now();
    const { stdout, stderr } = await runUntilReady(commands, { cwd: clone, path: SYSTEM_PATH, timeoutMs: 600_000 });
    const took = Math.round((performance.now() - beganAt) / 1000);
    t.diagnostic(`installed, started and stopped after ${took} s; ${await folderMib(clone)} MB`);
    assert.match(stdout, new RegExp(`"node":"${process.versions.node}"`));
    const warnings = stderr.split('\n').filter((line) => !line.includes('Unknown user config'));
    assert.doesNotMatch(warnings.join('\n'), /warn/i);
  });
}
