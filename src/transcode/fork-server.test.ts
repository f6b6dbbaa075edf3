import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { beforeEach, it } from 'node:test';
import { childrenOf, forkServersOf, isRunning, transcodersOf } from '#test/support/children.ts';
import { processStat } from '#test/support/process-stat.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { ForkServer } from './fork-server.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';
import { PROTOCOL_VERSION } from './worker-protocol.ts';

const JOB = { version: PROTOCOL_VERSION, preset: 'ultrafast', threads: 1, pictures: [] } as const;

const until = (what: string, condition: () => boolean) => waitFor(condition, { what, timeoutMs: 120_000 });

/** A worker, and what it reports. */
function startWorker(forkServer: ForkServer) {
  const heard: { messages: string[]; ends: WorkerEnd[] } = { messages: [], ends: [] };
  const worker = new WorkerProcess(forkServer, JOB, {
    onMessage: ({ type }) => void heard.messages.push(type),
    onEnd: (end) => void heard.ends.push(end),
  });
  return { worker, heard, isReady: () => heard.messages.includes('ready') };
}

/** The fork servers of this process before a test. Those of earlier tests, and of other files that share the process, may still be ending. */
let others: ReadonlySet<number>;
beforeEach(() => {
  others = new Set(forkServersOf(process.pid).map(({ pid }) => pid));
});

/** The fork servers that a test has started and that have not ended. */
const started = (): readonly number[] =>
  forkServersOf(process.pid).flatMap(({ pid }) => (others.has(pid) ? [] : [pid]));

/** Blocks this process, and no other. */
function blockFor(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function forkServerPid(): number {
  const [pid, ...more] = started();
  assert.ok(pid !== undefined && more.length === 0, 'there is one fork server');
  return pid;
}

it('starts workers in another process, so that the server itself never forks for one', async () => {
  using forkServer = new ForkServer();
  const workers = [startWorker(forkServer), startWorker(forkServer)];
  await until('both workers', () => workers.every(({ isReady }) => isReady()));
  const pids = new Set(childrenOf(forkServerPid()).map(({ pid }) => pid));
  assert.deepEqual(pids, new Set(workers.map(({ worker }) => worker.pid)));
  for (const { worker } of workers) worker.end();
  await Promise.all(workers.map(({ worker }) => worker.ended));
  assert.deepEqual(
    workers.map(({ heard }) => heard.ends),
    workers.map(() => [{ reason: 'exited', exit: 0, detail: '' }]),
  );
});

it('delivers what was sent before the worker had started', async () => {
  using forkServer = new ForkServer();
  const { worker, heard } = startWorker(forkServer);
  assert.ok(worker.queuedBytes > 0);
  worker.end();
  await worker.ended;
  assert.equal(heard.messages[0], 'ready');
  assert.equal(worker.queuedBytes, 0);
});

it('works with a worker that started while this process was blocked', async () => {
  using forkServer = new ForkServer();
  const { worker, heard } = startWorker(forkServer);
  blockFor(1500); // for longer than a worker takes to start
  worker.end();
  await worker.ended;
  assert.deepEqual([heard.messages[0], heard.ends[0]?.reason, heard.ends[0]?.exit], ['ready', 'exited', 0]);
});

it('reports a worker that ended before it could be handed over, because this process was blocked', async () => {
  using forkServer = new ForkServer();
  const workers = [startWorker(forkServer), startWorker(forkServer)];
  // The connection of the second worker waits until this process has confirmed the first.
  let pids: readonly number[] = [];
  for (; pids.length < 2; blockFor(5)) pids = started().flatMap((pid) => childrenOf(pid).map((child) => child.pid));
  process.kill(Math.max(...pids), 'SIGKILL');
  while (isRunning(Math.max(...pids))) blockFor(5);
  const [survivor, dead] = workers;
  await dead!.worker.ended;
  await until('the other worker', survivor!.isReady);
  assert.deepEqual(dead!.heard.messages, []);
});

it('ends a worker by force, even before it has started', async () => {
  using forkServer = new ForkServer();
  const early = startWorker(forkServer);
  early.worker.kill('hung');
  await early.worker.ended;
  assert.deepEqual(early.heard.ends, [{ reason: 'hung', exit: 'SIGKILL', detail: '' }]);
  assert.deepEqual(early.heard.messages, []);
});

it('reports a worker as ended when it ends itself, has the worker killed, and starts again for the next one', async () => {
  using forkServer = new ForkServer();
  const { worker, heard, isReady } = startWorker(forkServer);
  await until('the worker', isReady);
  const { pid } = worker;
  process.kill(forkServerPid(), 'SIGKILL');
  await worker.ended;
  assert.equal(heard.ends[0]?.detail, 'The fork server has ended.');
  await until('the end of the worker', () => !isRunning(pid!));
  const next = startWorker(forkServer);
  await until('another worker', next.isReady);
});

it('is killed itself when it does not end a worker in time', async () => {
  using forkServer = new ForkServer({ killWithinMs: 100 });
  const { worker, heard, isReady } = startWorker(forkServer);
  await until('the worker', isReady);
  process.kill(forkServerPid(), 'SIGSTOP');
  worker.kill('hung');
  await worker.ended;
  assert.equal(heard.ends[0]?.reason, 'hung');
});

it('is not killed because the server was held up while it ended a worker', async (t) => {
  using forkServer = new ForkServer({ killWithinMs: 10_000 });
  const { worker, heard, isReady } = startWorker(forkServer);
  await until('the worker', isReady);
  const pid = forkServerPid();
  const workerPid = worker.pid!;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  worker.kill('hung');
  while (processStat(workerPid) !== undefined) blockFor(5);
  blockFor(3000); // for longer than the fork server takes to report the end of a worker that it has reaped
  t.mock.timers.tick(10_000);
  await worker.ended;
  t.mock.timers.reset();
  assert.equal(heard.ends[0]?.reason, 'hung');
  // If the fork server had been killed, the next worker would have another one.
  const next = startWorker(forkServer);
  await until('another worker', next.isReady);
  assert.equal(forkServerPid(), pid);
});

it('ends with its workers when its server is killed, even if the server has not confirmed a connection', async () => {
  const file = JSON.stringify(new URL('fork-server.ts', import.meta.url).href);
  const nothing = '{ onStarted() {}, onEnded() {} }';
  const blocked = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
  const script = `const { ForkServer } = await import(${file}); new ForkServer().start('transcoder', ${nothing}); ${blocked}`;
  const server = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'ignore' });
  const workers = () => transcodersOf(server.pid!).map(({ pid }) => pid);
  await until('the worker', () => workers().length === 1);
  const pids = [...forkServersOf(server.pid!).map(({ pid }) => pid), ...workers()];
  server.kill('SIGKILL');
  await until('the end of both', () => !pids.some(isRunning));
});

it('leaves no process behind when it is killed, if process 1 is an init, as in a container that has one', {
  skip: canMakePidNamespaces() ? false : 'this user, or this system, cannot make a PID namespace (unshare --pid)',
}, () => {
  const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const script = `
    const { setTimeout: sleep } = await import('node:timers/promises');
    const { ForkServer } = await import(${url('fork-server.ts')});
    const { childrenOf, forkServersOf } = await import(${url('../../test/support/children.ts')});
    const forkServer = new ForkServer();
    const ended = Promise.withResolvers();
    forkServer.start('transcoder', {
      onStarted() {
        process.kill(forkServersOf(process.pid)[0].pid, 'SIGKILL');
      },
      onEnded: ended.resolve,
    });
    await ended.promise;
    while ([...childrenOf(1), ...childrenOf(process.pid)].some(({ pid }) => pid !== process.pid)) await sleep(10);
  `;
  // The shell is process 1 of the namespace. It does not replace itself with the program, because another command follows.
  const inNamespace = ['--pid', '--fork', '--mount-proc', '--kill-child', 'sh', '-c', '"$@"; exit $?', 'sh'];
  const { status, stderr } = spawnSync(
    'unshare',
    [...inNamespace, process.execPath, '--input-type=module', '--eval', script],
    { timeout: 120_000, encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
});

it('ends its workers when it is disposed', async () => {
  const forkServer = new ForkServer();
  const { worker, isReady } = startWorker(forkServer);
  await until('the worker', isReady);
  forkServer[Symbol.dispose]();
  await worker.ended;
  await until('its end', () => started().length === 0);
});

it('reports a worker as not started when it is requested after the disposal', async () => {
  const forkServer = new ForkServer();
  forkServer[Symbol.dispose]();
  const { worker, heard } = startWorker(forkServer);
  await worker.ended;
  assert.equal(heard.ends[0]?.reason, 'not_started');
});

function canMakePidNamespaces(): boolean {
  return spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0;
}
