import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dockState } from './dock-state.ts';

type Info = Parameters<typeof dockState>[0];

const info = (stream: object = {}, session: object | null = {}) =>
  ({
    stream: { isActive: true, suspended: false, health: { encoder: 'obs 31.0.2', warnings: [] }, ...stream },
    session: session && { phase: 'live', isHealthy: true, ...session },
  }) as unknown as Info;
const sample = (speed: number, drift: number) => ({ speed, drift }) as Parameters<typeof dockState>[1][number];
const warning = (code: string, severity: string, message: string) => ({ code, severity, message });

test('the dock says in a word how a stream is', () => {
  const cases: readonly (readonly [Info, string, boolean])[] = [
    [info(), 'Healthy', true],
    [info({ suspended: true }), 'Suspended', false],
    [info({ isActive: false }, { phase: 'ended' }), 'Offline', false],
    [info({ isActive: false }, null), 'Offline', false],
    [info({ isActive: false }, { phase: 'reconnecting' }), 'Lost', false],
    [info({}, { isHealthy: false }), 'Issues', true],
  ];
  for (const [each, word, isLive] of cases) {
    const state = dockState(each, []);
    assert.deepEqual([state.health.word, state.isLive], [word, isLive]);
  }
});

test('the dock names the first issue and what to change in the menus of the encoder; remarks that are no issues are left out', () => {
  const warnings = [
    warning('video_black', 'notice', 'the video is black'),
    warning('keyframe_interval_too_long', 'issue', 'keyframe every 9.6 s; set the encoder to 2 s'),
  ];
  const { problem, advice } = dockState(
    info({ health: { encoder: 'obs 31.0.2', warnings } }, { isHealthy: false }),
    [],
  );
  assert.equal(problem, 'Keyframe every 9.6 s; set the encoder to 2 s.');
  assert.match(advice!, /^OBS: .*Keyframe Interval: 2 s\.$/);
});

test('an uplink that is too slow is an issue, although no warning speaks of it', () => {
  const { health, problem } = dockState(info(), [sample(0.9, 2), sample(0.9, 3), sample(0.9, 4)]);
  assert.equal(health.word, 'Issues');
  assert.match(problem!, /Lower the bitrate/);
});
