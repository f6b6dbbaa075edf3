import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PlayedWorkers } from '#test/support/played-worker.ts';
import { VIDEO_TRACK } from '#test/support/tracks.ts';
import { makeStill } from './still.ts';

it('starts the time limit of a worker once more when it says that it prepares, and not a second time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const workers = new PlayedWorkers();
  const { codec, config, width, height } = VIDEO_TRACK;
  const still = makeStill(workers, { codec, config, width, height, data: Buffer.of(1) });
  await workers.hears('job');
  for (let round = 0; round < 2; round += 1) {
    t.mock.timers.tick(9000);
    workers.say({ type: 'preparing' });
    await workers.settled();
  }
  assert.equal(workers.kills, 0);
  t.mock.timers.tick(1000);
  assert.equal(workers.kills, 1);
  assert.equal(await still, undefined);
});
