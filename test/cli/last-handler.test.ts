/**
 * Errors that nothing has caught, in a real process.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../support/wait-for.ts';
import { dataFolder, serve } from './millrace.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

/** A server with a number of errors at each SIGUSR2. */
async function serveWithFaults(t: TestContext, times: number) {
  const faults = new URL(`./faults-on-signal.ts?times=${times}`, import.meta.url).href;
  const command = [process.execPath, '--import', faults, LAUNCHER, 'serve'] as const;
  const server = await serve(t, { command, settings: { DATA_DIR: await dataFolder(t) } });
  const caught = async () => {
    const text = await (await fetch(server.metrics)).text();
    return Number(/millrace_internal_errors_total\{where="process"\} (\d+)/.exec(text)?.[1] ?? 0);
  };
  return { ...server, caught };
}

test('a process continues after an uncaught error, counts each, and logs each kind once', async (t) => {
  const { child, finished, http, caught } = await serveWithFaults(t, 10);
  child.kill('SIGUSR2');
  await waitFor(async () => (await caught()) === 10, { what: 'ten errors' });
  child.kill('SIGUSR2');
  await waitFor(async () => (await caught()) === 20, { what: 'ten rejections' });
  assert.equal((await fetch(`${http}/healthz`)).status, 200);
  child.kill('SIGTERM');
  const { code, stdout } = await finished;
  assert.equal(code, 0);
  const told = stdout.split('\n').filter((line) => line.includes('"msg":"internal error'));
  assert.equal(told.length, 2);
  assert.match(told[0]!, /RangeError: an error for this test.*faults-on-signal/);
  assert.match(told[1]!, /TypeError: a rejection for this test/);
});

test('after more than a hundred errors in a minute a server drains and ends with an exit code after which it is restarted', async (t) => {
  const { child, finished } = await serveWithFaults(t, 101);
  child.kill('SIGUSR2');
  const { code, stdout, stderr } = await finished;
  assert.equal(code, 1);
  assert.match(stderr, /too many internal errors/);
  assert.match(stdout, /"reason":"too many internal errors","msg":"shutting down"/);
});
