import assert from 'node:assert/strict';
import { EventEmitter, on, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { WorkerHost } from './worker-host.ts';

const ECHO = `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (message) => {
    if (message === 'die') process.exit(3);
    if (message === 'throw') throw new Error('broken');
    if (message === 'end') parentPort.close();
    else parentPort.postMessage(message);
  });
`)}`;

/** Makes the host of a thread that sends each message back, and a function that returns what the host is told, in order. */
function echoHost(t: TestContext) {
  const told = new EventEmitter();
  const all = on(told, 'told');
  const host = new WorkerHost<unknown, string>({
    name: 'echo',
    module: new URL(ECHO),
    greeting: () => ['hello'],
    onMessage: (message) => told.emit('told', message),
    onLost: (reason) => told.emit('told', `lost: ${reason}`),
  });
  t.after(() => host.end('end', 60_000));
  return { host, next: async () => ((await all.next()).value as [string])[0] };
}

test('the death of a thread is told once, and the next message starts another thread, which gets the greeting again', async (t) => {
  const { host, next } = echoHost(t);
  for (const [last, reason] of [
    ['die', 'the thread echo ended with code 3'],
    ['throw', 'Error: broken'],
  ] as const) {
    host.post('one');
    assert.deepEqual([await next(), await next()], ['hello', 'one']);
    host.post(last);
    assert.equal(await next(), `lost: ${reason}`);
  }
  host.post('two');
  assert.deepEqual([await next(), await next()], ['hello', 'two']);
  await host.end('end', 60_000);
  assert.equal(await next(), 'lost: the thread echo ended with code 0');
});

test('a thread is ended when a message cannot be sent to it, and the next message starts another', async (t) => {
  const { host, next } = echoHost(t);
  const started = once(process, 'worker');
  host.post('one');
  assert.deepEqual([await next(), await next()], ['hello', 'one']);
  const [thread] = (await started) as [Worker];
  const ended = once(thread, 'exit');
  host.post(() => 'functions cannot be sent');
  assert.match(await next(), /^lost: DataCloneError/);
  await ended;
  host.post('two');
  assert.deepEqual([await next(), await next()], ['hello', 'two']);
});

test('a thread that does not end is waited for no longer than allowed', async (t) => {
  const { host, next } = echoHost(t);
  host.post('one');
  await host.end('go on', 1);
  host.post('end');
  assert.deepEqual(
    [await next(), await next(), await next(), await next()],
    ['hello', 'one', 'go on', 'lost: the thread echo ended with code 0'],
  );
});
