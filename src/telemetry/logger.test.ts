import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { createLogger } from './logger.ts';

/** Logs twice, the second time after the first has failed, and then writes to standard error that it is still running. */
const PROGRAM = `
  import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
  const logger = createLogger('info');
  logger.info({}, 'one');
  setTimeout(() => {
    logger.info({}, 'two');
    setTimeout(() => console.error('alive'), 50);
  }, 50);
`;

/** Runs the program with this standard output. */
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

test('a program whose log is no longer read goes on', async () => {
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

/** A logger whose intervals the test ends, and every line it wrote. */
function limited(t: TestContext, level = 'info') {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: string[] = [];
  const logger = createLogger(level, { write: (line) => void lines.push(line) });
  const records = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, records, lines, endInterval: () => t.mock.timers.tick(10_000) };
}

test('lines of one message beyond a hundred in an interval are dropped, and their number is logged once', (t) => {
  const { logger, records, endInterval } = limited(t);
  const child = logger.child({ connection: 1 });
  for (let index = 0; index < 5000; index++) child.warn({ index }, 'frequent');
  logger.info({}, 'rare');
  assert.equal(records().filter(({ msg }) => msg === 'frequent').length, 100);
  assert.equal(records().at(-1)!.msg, 'rare');
  endInterval();
  assert.deepEqual(records().at(-1)!.dropped, { frequent: 4900 });
  child.warn({}, 'frequent');
  assert.equal(records().at(-1)!.msg, 'frequent', 'the next interval begins with a new allowance');
});

test("whatever is logged, a minute of log is less than 1 MB and has the stack of each interval's first error", (t) => {
  const { logger, lines, records, endInterval } = limited(t);
  for (let interval = 0; interval < 6; interval++) {
    for (let index = 0; index < 20_000; index++) logger.info({ filler: 'é'.repeat(300) }, `message ${index % 50}`);
    for (let index = 0; index < 100; index++) logger.error({ err: new Error(`fault ${interval}`) }, 'failed');
    endInterval();
  }
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  assert.ok(bytes < 1_000_000, `${bytes} bytes`);
  const faults = records().flatMap(({ err }) => (err as { message: string; stack: string } | undefined) ?? []);
  for (let interval = 0; interval < 6; interval++) {
    assert.ok(faults.some(({ message, stack }) => message === `fault ${interval}` && stack.includes('logger.test.ts')));
  }
});

test('a minute of long lines, each of another message, is less than 1 MB, too', (t) => {
  const { logger, lines, endInterval } = limited(t);
  for (let interval = 0; interval < 6; interval++) {
    for (let index = 0; index < 1000; index++) logger.info({ filler: 'x'.repeat(3000) }, `message ${index}`);
    endInterval();
  }
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  assert.ok(bytes < 1_000_000, `${bytes} bytes`);
});

test('lines of level debug are never dropped, and do not count towards the limit', (t) => {
  const { logger, records } = limited(t, 'debug');
  for (let index = 0; index < 5000; index++) logger.debug({ filler: 'x'.repeat(100) }, 'detail');
  logger.info({}, 'rare');
  assert.equal(records().length, 5001);
});
