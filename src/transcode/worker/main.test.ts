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

/** A message of a worker, and the CPU time that the worker had used when it was received. */
interface Heard {
  readonly type: FromWorker['type'];
  readonly cpuMs: number;
}

/** Has a worker make one picture of a clip whose tones it must map. Returns its messages about that. */
async function makePicture(): Promise<readonly Heard[]> {
  const { track, packets } = makeClip({ frames: 1, isPq: true });
  const { codec, config, width, height } = track;
  const heard: Heard[] = [];
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
  return heard.filter(({ type }) => !['ready', 'begun', 'health'].includes(type));
}

it('announces that it prepares the mapping of tones before it begins, so that the server waits for it', {
  skip: process.platform === 'linux' ? false : 'only Linux says how much CPU time another process has used',
}, async () => {
  const spentMs: number[] = [];
  // This process may be held up before it reads the announcement, and the worker prepares in the meantime.
  while (spentMs.length < 3 && !spentMs.some((each) => each > 200)) {
    const results = await makePicture();
    assert.deepEqual(
      results.map(({ type }) => type),
      ['preparing', 'picture', 'done'],
    );
    const [announced, made] = results;
    spentMs.push(made!.cpuMs - announced!.cpuMs);
  }
  assert.ok(spentMs.at(-1)! > 200, `${spentMs.join()} ms of CPU time after the announcement`);
});
