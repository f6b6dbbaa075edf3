import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import { newStream } from '#domain/stream.ts';
import { ms } from '#lib/units.ts';
import type { LiveDirectory, LiveStatus } from '#live/live.ts';
import type { Caller } from './authenticate.ts';
import { streamJson } from './present-stream.ts';

test('the JSON of a stream has its key only for callers that may use it, and the state of a session that runs here', () => {
  const userId = newUserId();
  const stream = newStream({ userId, name: 'x', createdAt: ms(0), createdByTokenName: 'key', profiles: [] });
  let status: LiveStatus | undefined;
  const live = { status: () => status } as unknown as LiveDirectory;
  const read = (mayPublish: boolean) =>
    JSON.parse(streamJson(stream, { scope: userId, mayPublish: () => mayPublish } as unknown as Caller, live));
  for (let round = 0; round < 2; round += 1) {
    assert.equal(read(true).streamKey, stream.streamKey.reveal());
    assert.equal(read(false).streamKey, undefined);
    assert.equal(read(true).isActive, false);
  }
  for (const lastSeen of [ms(5), ms(6)]) {
    status = { isActive: true, lastSeen } as unknown as LiveStatus;
    const { isActive, lastSeen: shown } = read(true);
    assert.deepEqual([isActive, shown], [true, lastSeen]);
  }
  status = undefined;
  assert.equal(read(true).isActive, false);
});
