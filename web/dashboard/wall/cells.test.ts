import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gridOf, wallCells } from './cells.ts';

const session = (id: string, change: object = {}) =>
  ({
    id,
    parentId: `stream ${id}`,
    playbackId: `playback ${id}`,
    profiles: [],
    name: id,
    phase: 'live',
    viewers: 1,
    isHealthy: true,
    issues: [],
    createdAt: Number(id),
    ...change,
  }) as Parameters<typeof wallCells>[0][number];

test('the wall has what is live or was just lost, once each, and what needs attention first', () => {
  const cells = wallCells([
    session('4'),
    session('2', { phase: 'ended' }),
    session('3', { isHealthy: false, issues: ['keyframe every 9.6 s', 'audio is missing'] }),
    session('5', { phase: 'reconnecting', isHealthy: null, issues: null }),
    session('1'),
    session('6', { phase: 'starting' }),
    session('4'),
  ]);
  assert.deepEqual(
    cells.map(({ name, word, problem }) => [name, word, problem]),
    [
      ['5', 'Lost', 'no media is coming in'],
      ['3', 'Issues', 'keyframe every 9.6 s'],
      ['1', 'Healthy', undefined],
      ['4', 'Healthy', undefined],
    ],
  );
  assert.deepEqual([cells[0]?.streamId, cells[0]?.playbackId], ['stream 5', 'playback 5']);
});

test('pictures are as large as the screen allows', () => {
  for (const [count, width, height, columns, rows] of [
    [0, 1920, 1080, 1, 1],
    [1, 1920, 1080, 1, 1],
    [2, 1920, 1080, 2, 1],
    [2, 1080, 1920, 1, 2],
    [4, 1920, 1020, 2, 2],
    [9, 1920, 1020, 3, 3],
    [30, 1920, 1020, 6, 5],
    [30, 390, 780, 3, 10],
  ] as const) {
    assert.deepEqual(gridOf(count, width, height), { columns, rows }, `${count} on ${width} by ${height}`);
  }
});
