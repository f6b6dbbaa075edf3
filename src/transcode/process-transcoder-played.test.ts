import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { GapReason } from '#media/session-event.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { PlayedWorkers } from '#test/support/played-worker.ts';
import { asEvent, markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { ProcessTranscoder } from './process-transcoder.ts';
import { SourceTrust } from './source-trust.ts';
import type { TranscoderWarning } from './transcoder.ts';

const PROFILES = [160, 128].map((width) => ({
  name: `${width}`,
  bitrate: 300_000,
  fps: 0,
  width,
  height: (width * 3) / 4,
}));
const TICK_MS = 100;

/** A transcoder whose workers the test plays, and a clock that the test moves. */
async function setUp(t: TestContext, { graceMs = 0 } = {}) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 1_000_000;
  const clock: Clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
  const workers = new PlayedWorkers();
  const missing: { readonly id: string; readonly why: GapReason }[] = [];
  const warnings: TranscoderWarning[] = [];
  const transcoder = new ProcessTranscoder({
    profiles: PROFILES,
    settings: { preset: 'ultrafast', threads: 1, memoryMib: 1_000_000 },
    callbacks: {
      onTrack() {},
      onPacket() {},
      onMissing: (id, why) => void missing.push({ id, why }),
      onAudioTrack() {},
      onAudioPacket() {},
      onPicture() {},
      onWarning: (warning) => {
        warnings.push(warning);
        if (warning.code === 'transcode_source_refused') void transcoder[Symbol.asyncDispose]();
      },
      onRestart() {},
    },
    trust: new SourceTrust(),
    forkServer: workers,
    clock,
    logger: silentLogger,
    timeouts: { graceMs, hungAfterMs: 5000, startWithinMs: 20_000, firstPauseMs: 1, maxPauseMs: 1 },
  });
  t.after(() => transcoder[Symbol.asyncDispose]());
  const pass = (durationMs: number) => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += TICK_MS) {
      nowMs += TICK_MS;
      t.mock.timers.tick(TICK_MS);
    }
  };
  return {
    transcoder,
    workers,
    missing,
    warnings,
    /** Begins the video, and makes the worker ready. */
    begin: async () => {
      transcoder.setTrack(VIDEO_TRACK);
      await workers.getReady();
      await workers.hears('source');
      workers.say({ type: 'begun' });
    },
    /** Sends the 25 frames of a second, or fewer, beginning with a marked keyframe. */
    send: (second: number, { frames = 25 } = {}) => {
      for (let frame = 0; frame < frames; frame += 1) {
        const packet = packetAt(VIDEO_TRACK, second * 1000 + frame * 40, { keyframe: frame === 0 });
        transcoder.write(asEvent(frame === 0 ? { ...packet, mark: markAt(second) } : packet));
      }
    },
    pass,
    /** Lets time pass until something has happened. */
    passUntil: (what: string, condition: () => boolean) => {
      const passes = () => {
        pass(TICK_MS);
        return condition();
      };
      return waitFor(passes, { what });
    },
    /** Ends the first worker of a test, and waits until the transcoder has noticed. */
    lose: async (exit: string) => {
      workers.end({ exit, detail: '' });
      await waitFor(() => transcoder.stats.restarts === 1, { what: 'the end of the worker' });
    },
  };
}

it('waits longer for a worker that announced a preparation, and does not judge its lag until it has caught up', async (t) => {
  const { transcoder, workers, warnings, begin, send, pass } = await setUp(t, { graceMs: 3000 });
  await begin();
  pass(3000);
  send(0);
  await workers.hears('packet');
  workers.say({ type: 'preparing' });
  await workers.settled();
  pass(19_000);
  assert.deepEqual([workers.kills, warnings], [0, []]);
  workers.say({ type: 'done', count: 1 });
  await waitFor(() => workers.heard.filter(({ type }) => type === 'packet').length > 8, { what: 'more packets' });
  pass(2900);
  assert.deepEqual([workers.kills, warnings], [0, []]);
  pass(2000);
  assert.equal(warnings[0]?.code, 'transcode_frames_dropped');
  pass(1000);
  assert.equal(workers.kills, 1);
  assert.equal(transcoder.stats.restarts, 0, 'its end follows');
});

it('kills a worker whose preparation takes too long', async (t) => {
  const { workers, begin, pass } = await setUp(t);
  await begin();
  workers.say({ type: 'preparing' });
  await workers.settled();
  pass(20_200);
  assert.equal(workers.kills, 1);
});

it('reports dropped packets once, and not again after the gap has ended', async (t) => {
  const { workers, missing, warnings, begin, send, pass, passUntil } = await setUp(t);
  await begin();
  for (const second of [0, 1, 2]) send(second);
  await passUntil('packets to be dropped', () => warnings.some(({ code }) => code === 'transcode_frames_dropped'));
  const lost = () => missing.filter(({ id, why }) => id === '128' && why === 'lost').length;
  assert.equal(lost(), 1);
  // The worker recovers, and gets everything after the gap.
  workers.say({ type: 'done', count: 8 });
  await waitFor(() => workers.heard.some((each) => each.type === 'packet' && each.afterGap), { what: 'the keyframe' });
  pass(TICK_MS);
  assert.equal(lost(), 1);
});

it('does not report packets that were dropped before the first packet of a worker as missing after it', async (t) => {
  const { transcoder, workers, missing, begin, send, pass, lose } = await setUp(t);
  await begin();
  await lose('SIGKILL');
  const before = missing.length;
  for (const second of [0, 1, 2, 3]) send(second);
  assert.ok(transcoder.stats.droppedPackets > 0);
  await workers.getReady();
  await workers.hears('packet');
  pass(TICK_MS);
  assert.equal(missing.length, before);
});

it('leaves out a rendition whose encoder failed, also in the next worker, and tries it again with another track', async (t) => {
  const { transcoder, workers, missing, warnings, begin, send, lose } = await setUp(t);
  await begin();
  workers.say({ type: 'failed', rendition: 0 });
  workers.say({ type: 'failed', rendition: 0 });
  await waitFor(() => warnings.length > 0, { what: 'a warning' });
  assert.deepEqual(warnings, [{ code: 'transcode_rendition_failed', renditionId: '160' }]);
  assert.deepEqual(missing.splice(0), [{ id: '160', why: 'lost' }]);
  await lose('SIGKILL');
  assert.deepEqual(missing, [{ id: '128', why: 'lost' }]);
  await workers.getReady();
  assert.deepEqual((await workers.hears('active')).renditions, [1]);
  send(0);
  await workers.hears('packet');
  const order = workers.heard.map(({ type }) => type);
  assert.ok(order.indexOf('active') < order.indexOf('packet'), order.join());
  workers.say({ type: 'begun' });
  transcoder.setTrack({ ...VIDEO_TRACK, config: Buffer.from('other') });
  const isAgain = () => workers.heard.filter(({ type }) => type === 'source').length === 2;
  await waitFor(isAgain, { what: 'the other track' });
  assert.equal(workers.heard.filter(({ type }) => type === 'active').length, 1);
  assert.equal(warnings.length, 1);
});

it('makes a shed rendition when the encoder of the last one failed', async (t) => {
  const { transcoder, workers, warnings, begin, send, passUntil } = await setUp(t);
  await begin();
  send(0);
  await passUntil('a rendition to be shed', () => transcoder.stats.shed.length > 0);
  workers.say({ type: 'failed', rendition: 1 });
  await waitFor(() => warnings.some(({ code }) => code === 'transcode_rendition_failed'), { what: 'the failure' });
  await waitFor(() => workers.heard.filter(({ type }) => type === 'active').length === 2, { what: 'another choice' });
  assert.deepEqual(
    workers.heard.findLast(({ type }) => type === 'active'),
    { type: 'active', renditions: [0] },
  );
});

it('does not take a shed rendition whose encoder failed for a restored one', async (t) => {
  const { transcoder, workers, warnings, begin, send, passUntil } = await setUp(t);
  await begin();
  send(0);
  await passUntil('a rendition to be shed', () => transcoder.stats.shed.length > 0);
  workers.say({ type: 'failed', rendition: 0 });
  await waitFor(() => warnings.some(({ code }) => code === 'transcode_rendition_failed'), { what: 'the failure' });
  assert.deepEqual(transcoder.stats.shed, []);
});

it('counts the audio that encoders refuse, and does not call the source damaged because of it', async (t) => {
  const { transcoder, workers, warnings, begin, lose } = await setUp(t);
  const health = { rssBytes: 1, cpuMs: 1, decodeErrors: 0, encodeErrors: 3, blackS: 0, frozenS: 0 };
  await begin();
  workers.say({ type: 'health', health });
  await waitFor(() => transcoder.stats.encodeErrors === 3, { what: 'the first errors' });
  await lose('SIGKILL');
  await workers.getReady();
  workers.say({ type: 'health', health: { ...health, decodeErrors: 1 } });
  await waitFor(() => transcoder.stats.encodeErrors === 6, { what: 'the errors of both workers' });
  assert.deepEqual(warnings, [{ code: 'transcode_source_damaged' }]);
});

it('ends when it is disposed because its source is refused', async (t) => {
  const { transcoder, workers, begin, warnings, lose } = await setUp(t);
  await begin();
  await lose('SIGSEGV');
  await workers.getReady();
  await workers.hears('source');
  workers.end({ exit: 'SIGSEGV', detail: '' });
  await waitFor(() => warnings.some(({ code }) => code === 'transcode_source_refused'), { what: 'the refusal' });
  assert.equal(transcoder.stats.state, 'ended');
});
