import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf, firstNewFrame } from './player-findings.ts';

const REQUIREMENT = { against: 'limit 5 s', limitS: 5 };

test('a row of the players says which of them miss the limit, and by how much', () => {
  const { measured, reached, ratio, players } = answerOf(
    [
      { name: 'hls.js', did: 'new frames after 5.0 s', seconds: 5, faults: [] },
      { name: 'VLC', did: 'new frames after 6.9 s', seconds: 6.9, faults: [] },
      { name: 'mpv', did: 'shows nothing new', faults: ['shows nothing new'] },
      { name: 'Shaka', did: 'new frames after 1.0 s', seconds: 1, faults: ['1 fatal error'] },
    ],
    REQUIREMENT,
  );
  assert.equal(measured, '1 of 4; missed by VLC (by 1.90 s), mpv (shows nothing new), Shaka (1 fatal error)');
  assert.equal(reached, false);
  assert.equal(ratio, 0.25);
  assert.deepEqual(players, [
    { name: 'hls.js', result: '5.0 s', reached: true },
    { name: 'VLC', result: '6.9 s', reached: false },
    { name: 'mpv', result: 'shows nothing new', reached: false },
    { name: 'Shaka', result: '1 fatal error', reached: false },
  ]);
});

test('a row of the players is reached when each player does what is required, also in a case without a limit in seconds', () => {
  const { measured, reached, players } = answerOf([{ name: 'hls.js', did: '20 of 20', faults: [] }], {
    against: 'all of them',
  });
  assert.equal(measured, '1 of 1');
  assert.equal(reached, true);
  assert.deepEqual(players, [{ name: 'hls.js', result: '✓', reached: true }]);
});

test('a frame that was shown before it was drawn was misread, and is not the first new frame', () => {
  const old = { counter: 1, drawnAtMs: 900, atMs: 1000 };
  const misread = { counter: 2, drawnAtMs: 99_000, atMs: 1100 };
  const fresh = { counter: 3, drawnAtMs: 2000, atMs: 3000 };
  assert.equal(firstNewFrame([old, misread, fresh], 1500), fresh);
  assert.equal(firstNewFrame([old, misread], 1500), undefined);
});
