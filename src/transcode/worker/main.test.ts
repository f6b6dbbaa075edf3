import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { makeClip } from '#test/support/clip.ts';
import { processStat } from '#test/support/process-stat.ts';
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
  const heard: { readonly type: FromWorker['type']; readonly cpuMs: number }[] = [];
  const done = Promise.withResolvers<void>();
  const job = { version: PROTOCOL_VERSION, preset: 'ultrafast', threads: 1, pictures: ['poster'] } as const;
  const worker = new WorkerProcess(forkServer, job, {
    onMessage: ({ type }) => {
      heard.push({ type, cpuMs: processStat(worker.pid!)!.cpuMs });
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
  const spentMs = made!.cpuMs - announced!.cpuMs;
  assert.ok(spentMs > 500, `${spentMs} ms of CPU time after the announcement`);
});
