import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { makeClip } from '#test/support/clip.ts';
import { ForkServer } from '#transcode/fork-server.ts';
import type { FromWorker } from '#transcode/worker-messages.ts';
import { WorkerProcess } from '#transcode/worker-process.ts';
import { PROTOCOL_VERSION } from '#transcode/worker-protocol.ts';

const forkServer = new ForkServer();
after(() => forkServer[Symbol.dispose]());

it('announces that it prepares the mapping of tones before it begins, so that the server waits for it', {
  skip: process.platform === 'linux' ? false : 'only Linux says how much CPU time another process has used',
}, async () => {
  const { track, packets } = makeClip({ frames: 1, isPq: true });
  const { codec, config, width, height } = track;
  /** The types of messages, and the CPU time that the worker had used when each was received. */
  const heard: { readonly type: FromWorker['type']; readonly cpuTicks: number }[] = [];
  const done = Promise.withResolvers<void>();
  const job = { version: PROTOCOL_VERSION, preset: 'ultrafast', threads: 1, pictures: ['poster'] } as const;
  const worker = new WorkerProcess(forkServer, job, {
    onMessage: ({ type }) => {
      heard.push({ type, cpuTicks: cpuTicksOf(worker.pid!) });
      if (type === 'done') done.resolve();
    },
    onEnd: () => done.reject(new Error('the worker has ended')),
  });
  worker.send({ type: 'source', source: { codec, config, width, height, framesPerSecond: 30, renditions: [] } });
  worker.send({ type: 'packet', packet: packets[0]!, afterGap: false });
  await done.promise;
  worker.kill('exited');
  await worker.ended;
  const results = heard.filter(({ type }) => !['ready', 'begun', 'health'].includes(type));
  assert.deepEqual(
    results.map(({ type }) => type),
    ['preparing', 'picture', 'done'],
  );
  const [announced, made] = results;
  const spent = made!.cpuTicks - announced!.cpuTicks;
  assert.ok(spent > 50, `${spent} hundredths of a second of CPU time after the announcement`);
});

/** The CPU time of a process, in hundredths of a second (proc_pid_stat(5)). */
function cpuTicksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return Number(user) + Number(system);
}
