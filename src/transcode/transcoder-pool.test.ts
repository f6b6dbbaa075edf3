import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '#lib/clock.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { TranscoderPool } from './transcoder-pool.ts';

it('hands out as many transcoders as may be, and another when one is disposed', async () => {
  const settings = { preset: 'veryfast', threads: 1, maxTranscodes: 2, memoryMib: 768 } as const;
  const pool = new TranscoderPool({ settings, clock: systemClock });
  const nothing = () => {};
  const callbacks = {
    onTrack: nothing,
    onPacket: nothing,
    onAudioTrack: nothing,
    onAudioPacket: nothing,
    onThumbnail: nothing,
    onWarning: nothing,
    onRestart: nothing,
  };
  const open = () => pool.open({ profiles: [], callbacks, logger: silentLogger });
  const first = open();
  await using second = open();
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(open(), undefined);
  await Promise.all([first[Symbol.asyncDispose](), first[Symbol.asyncDispose]()]);
  assert.equal(pool.count, 1);
  await using third = open();
  assert.ok(third !== undefined);
  assert.equal(open(), undefined);
});
