import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';

/** Logs twice, the second time after the first has failed, and says on standard error that it is still there. */
const PROGRAM = `
  import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
  const logger = createLogger('info');
  logger.info({}, 'one');
  setTimeout(() => {
    logger.info({}, 'two');
    setTimeout(() => console.error('alive'), 50);
  }, 50);
`;

/** Runs it with that standard output. */
async function logTo(stdout: number | 'pipe'): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', stdout, 'pipe'],
  });
  child.stdout?.destroy();
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

test('a program whose log nobody reads any more goes on', async () => {
  assert.deepEqual(await logTo('pipe'), { code: 0, stderr: 'alive\n' });
});

test('a program whose log is on a full disk goes on', {
  skip: !existsSync('/dev/full') && 'no /dev/full',
}, async () => {
  const full = openSync('/dev/full', 'w');
  try {
    assert.deepEqual(await logTo(full), { code: 0, stderr: 'alive\n' });
  } finally {
    closeSync(full);
  }
});
