import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHealthy } from '#domain/health.ts';
import { ms } from '#lib/units.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { SessionWarnings } from './session-warnings.ts';

/** Warnings with two clocks that the test controls and that always differ. */
function setUp() {
  let now = 0;
  const metrics = createMetrics();
  const clock = { now: () => ms(1_000_000 + now), monotonic: () => ms(now) };
  const warnings = new SessionWarnings({ clock, metrics });
  const codes = () => warnings.active.map(({ code }) => code);
  const advance = (seconds: number) => {
    now += seconds * 1000;
  };
  return { warnings, metrics, codes, advance };
}

test('a momentary warning holds for a minute after its last occurrence, and keeps the time of the first', () => {
  const { warnings, codes, advance } = setUp();
  assert.equal(warnings.raise({ code: 'timestamps_jumped' }), true);
  advance(50);
  assert.equal(warnings.raise({ code: 'timestamps_jumped' }), false);
  advance(59);
  assert.deepEqual(
    warnings.active.map(({ code, since }) => [code, since]),
    [['timestamps_jumped', 1_000_000]],
  );
  advance(1);
  assert.deepEqual(codes(), []);
  assert.equal(warnings.raise({ code: 'timestamps_jumped' }), true);
  assert.equal(warnings.active[0]?.since, 1_110_000);
});

test('a lasting warning holds until it is cleared, with its latest details', () => {
  const { warnings, codes, advance } = setUp();
  warnings.raise({ code: 'transcode_rendition_shed', renditions: ['720p'] });
  advance(3600);
  warnings.raise({ code: 'transcode_rendition_shed', renditions: ['720p', '480p'] });
  assert.match(warnings.active[0]?.message ?? '', /: 720p, 480p$/);
  assert.equal(warnings.active[0]?.since, 1_000_000);
  warnings.clear('transcode_rendition_shed');
  assert.deepEqual(codes(), []);
});

test('the warning about segments without a keyframe holds until there were none for half a minute', () => {
  const { warnings, codes, advance } = setUp();
  for (let segment = 0; segment < 10; segment += 1) {
    warnings.raise({ code: 'keyframe_interval_too_long', intervalS: 9.6, open: false });
    advance(12);
    assert.deepEqual(codes(), ['keyframe_interval_too_long']);
  }
  advance(18);
  assert.deepEqual(codes(), []);
});

test('only issues make a session unhealthy, and each event and each beginning of a state is counted', async () => {
  const { warnings, metrics } = setUp();
  assert.equal(isHealthy(warnings.active), true);
  warnings.raise({ code: 'profile_larger_than_source', renditions: ['1080p'] });
  assert.equal(isHealthy(warnings.active), true);
  warnings.raise({ code: 'transcode_restarted' });
  warnings.raise({ code: 'transcode_restarted' });
  assert.equal(isHealthy(warnings.active), false);
  for (const seconds of [20, 25, 30]) warnings.raise({ code: 'audio_silent', seconds });
  warnings.clear('audio_silent');
  warnings.raise({ code: 'audio_silent', seconds: 20 });
  const text = await metrics.registry.metrics();
  assert.match(text, /millrace_session_warnings_total\{code="transcode_restarted"\} 2/);
  assert.match(text, /millrace_session_warnings_total\{code="audio_silent"\} 2/);
});
