import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentOf } from './moments.ts';

const RECORDED = [
  { id: 'now', createdAt: 500_000, recordingStatus: 'waiting' },
  { id: 'before', createdAt: 100_000, endedAt: 200_000, recordingStatus: 'ready' },
  { id: 'gone', createdAt: 10_000, endedAt: 20_000, recordingStatus: 'deleted' },
] as const;

test('an event leads to the recording of its session, a little before it happened', () => {
  for (const [type, createdAt, sessionId, from, wanted] of [
    ['session.warning', 150_000, 'before', undefined, ['before', 145_000]],
    ['session.started', 101_000, 'before', undefined, ['before', 100_000]],
    ['session.warning', 550_000, 'now', undefined, ['now', 545_000]],
    ['session.warning', 15_000, 'gone', undefined, undefined],
    ['session.warning', 150_000, 'another', undefined, undefined],
    ['stream.idle', 201_000, undefined, undefined, ['before', 196_000]],
    ['stream.idle', 400_000, undefined, undefined, undefined],
    ['publish.refused', 240_000, undefined, 190_000, ['before', 185_000]],
    ['stream.updated', 150_000, undefined, undefined, undefined],
    ['asset.ready', 150_000, 'before', undefined, undefined],
  ] as const) {
    const event = { type, createdAt, ...(sessionId && { sessionId }), payload: from ? { from } : {} };
    const found = momentOf(event as Parameters<typeof momentOf>[0], RECORDED);
    assert.deepEqual(found && [found.sessionId, found.at], wanted, `${type} at ${createdAt}`);
  }
});
