import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { HealthSample } from '#domain/health-sample.ts';
import { newPlaybackId, newSessionId } from '#domain/ids.ts';
import { NO_TOTALS } from '#domain/session.ts';
import type { HourOfUsage } from '#domain/usage.ts';
import { ms } from '#lib/units.ts';
import type { SessionSample } from '#store/store.ts';
import type { InternalErrors } from '#telemetry/internal-errors.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSample } from '#test/support/sample-records.ts';
import type { LiveSession } from './live-session.ts';
import { SAMPLE_MS, SessionSampler } from './session-sampler.ts';
import { UsageBook } from './usage-book.ts';

/** A sampler of one session that receives 1000 bytes in each second, and has two viewers. */
function setUp(t: TestContext, hasPlayed = true) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const time = { now: 3_600_000 };
  const clock = { now: () => ms(time.now), monotonic: () => ms(time.now) };
  const [id, playbackId] = [newSessionId(), newPlaybackId()];
  const state = { phase: 'live' };
  const session = {
    record: { id, playbackId, totals: NO_TOTALS },
    hasPlayed,
    state,
    get totals() {
      return { ...NO_TOTALS, sourceBytes: time.now - 3_600_000, sourceSegmentsDuration: time.now / 1000 - 3600 };
    },
    takeSample: (viewers: number): HealthSample | undefined =>
      state.phase === 'live' ? someSample({ at: clock.now(), viewers }) : undefined,
  } as unknown as LiveSession;
  const sessions = [session];
  const samples: SessionSample[] = [];
  const hours = new Map<string, HourOfUsage>();
  const faults = { store: false };
  const errors: unknown[] = [];
  const sampler = new SessionSampler({
    sessions: () => sessions,
    viewersOf: () => 2,
    usage: new UsageBook(),
    store: {
      samples: {
        add: async (added) => {
          if (faults.store) throw new Error('away');
          samples.push(...added);
        },
        list: async () => [],
      },
      usage: {
        count: async (counted) => {
          if (faults.store) throw new Error('away');
          for (const hour of counted) hours.set(`${hour.hour} ${hour.playbackId}`, hour);
        },
        sum: async () => [],
        deleteOlder: async () => 0,
      },
    },
    clock,
    logger: silentLogger,
    errors: { note: (_where: string, error: unknown) => void errors.push(error) } as unknown as InternalErrors,
  });
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds * 1000; passed += SAMPLE_MS) {
      time.now += SAMPLE_MS;
      t.mock.timers.tick(SAMPLE_MS);
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
  };
  const counted = () => [...hours.values()].map(({ counts }) => counts);
  return { sampler, pass, samples, counted, state, sessions, faults, errors };
}

test('one sample is stored for each minute, and that of the unfinished minute at the end', async (t) => {
  const { sampler, pass, samples, errors } = setUp(t);
  await pass(150);
  await sampler[Symbol.asyncDispose]();
  assert.deepEqual(errors, []);
  const total = samples.reduce((sum, { sample }) => sum + sample.durationMs, 0);
  assert.equal(total, 155_000, 'each sample is in one minute, and the last one is taken at the end');
  assert.ok(samples.length >= 3 && samples.length <= 4, `${samples.length} minutes`);
  assert.equal(new Set(samples.map(({ sample }) => sample.at)).size, samples.length);
});

test('the last minute of a session is stored after its end, and no minute of a session that was never shown', async (t) => {
  const { pass, samples, state, sampler } = setUp(t);
  await pass(15);
  state.phase = 'ended';
  await pass(50);
  assert.deepEqual(
    samples.map(({ sample }) => sample.durationMs),
    [15_000],
  );
  await sampler[Symbol.asyncDispose]();
  t.mock.timers.reset();
  const unseen = setUp(t, false);
  await unseen.pass(130);
  await unseen.sampler[Symbol.asyncDispose]();
  assert.deepEqual(unseen.samples, []);
});

test('the last samples and usage of a session that is removed at once are stored', async (t) => {
  const { sampler, pass, samples, counted, sessions } = setUp(t);
  await pass(15);
  sessions.pop();
  await pass(5);
  await sampler[Symbol.asyncDispose]();
  assert.deepEqual(
    samples.map(({ sample }) => sample.durationMs),
    [15_000],
  );
  const [counts] = counted();
  assert.deepEqual([counts?.ingestMs, counts?.watchedMs], [20_000, 30_000]);
});

test('usage is counted once, also when the store was away for a while', async (t) => {
  const { sampler, pass, counted, faults, samples } = setUp(t);
  faults.store = true;
  await pass(130);
  assert.deepEqual(counted(), []);
  faults.store = false;
  await pass(60);
  const [counts] = counted();
  assert.equal(counts?.watchedMs, (counts?.ingestMs ?? 0) * 2);
  assert.equal(counts?.ingestBytes, counts?.ingestMs);
  assert.ok((counts?.ingestMs ?? 0) >= 180_000);
  assert.ok(samples.length >= 3);
  await sampler[Symbol.asyncDispose]();
  assert.equal(counted()[0]?.ingestMs, 190_000);
});
