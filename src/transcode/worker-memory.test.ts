import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { Profile } from '#domain/profile.ts';
import { systemClock } from '#lib/clock.ts';
import { MIB, ticks } from '#lib/units.ts';
import type { VideoCodec } from '#media/track.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { makeAudioClip } from '#test/support/audio-clip.ts';
import { later, makeClip, marked } from '#test/support/clip.ts';
import { oversizedUnits } from '#test/support/oversized-units.ts';
import { asEvent } from '#test/support/tracks.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { ForkServer } from './fork-server.ts';
import { ProcessTranscoder } from './process-transcoder.ts';
import { SourceTrust } from './source-trust.ts';
import type { TranscoderRestart, TranscoderWarningCode } from './transcoder.ts';

const canLimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;
const NEEDS_PRLIMIT = { skip: canLimit ? false : 'the system has no prlimit' };
const ONE_GROUP = 180_000;
const SMALL: Profile = { name: 'small', bitrate: 300_000, fps: 0, width: 320, height: 180 };
/** More renditions than a worker with 256 MiB can make. */
const LARGE: readonly Profile[] = [2160, 1440, 1080].map((height) => ({
  name: `${height}p`,
  bitrate: 6_000_000,
  fps: 0,
  width: (height * 16) / 9,
  height,
}));

const forkServer = new ForkServer();
after(() => forkServer[Symbol.dispose]());

const until = (what: string, condition: () => boolean) => waitFor(condition, { what, timeoutMs: 120_000 });

/** A transcoder, and a record of the peak of its workers' memory. */
function setUp(memoryMib: number, profiles: readonly Profile[] = [SMALL]) {
  const restarts: TranscoderRestart[] = [];
  const warnings: TranscoderWarningCode[] = [];
  const made = { packets: 0, audio: 0 };
  const nothing = () => {};
  const trust = new SourceTrust();
  const transcoder = new ProcessTranscoder({
    profiles,
    settings: { preset: 'ultrafast', threads: 1, memoryMib },
    callbacks: {
      onTrack: nothing,
      onPacket: () => {
        made.packets += 1;
      },
      onMissing: nothing,
      onAudioTrack: nothing,
      onAudioPacket: () => {
        made.audio += 1;
      },
      onPicture: nothing,
      onWarning: ({ code }) => void warnings.push(code),
      onRestart: (restart) => void restarts.push(restart),
    },
    trust,
    forkServer,
    clock: systemClock,
    logger: silentLogger,
    timeouts: { graceMs: 600_000, firstPauseMs: 1, maxPauseMs: 10, hungAfterMs: 600_000, startWithinMs: 600_000 },
  });
  const peak = { bytes: 0 };
  const watch = setInterval(() => {
    const { pid } = transcoder.stats;
    if (pid !== undefined) peak.bytes = Math.max(peak.bytes, peakOf(pid));
  }, 2);
  return {
    transcoder,
    trust,
    restarts,
    warnings,
    made,
    peak,
    running: () => until('the worker', () => transcoder.stats.state === 'running'),
    [Symbol.asyncDispose]: async () => {
      clearInterval(watch);
      await transcoder[Symbol.asyncDispose]();
    },
  };
}

/** The largest resident memory that a process has had. 0 when the process is gone. */
function peakOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/status`, 'latin1').match(/^VmHWM:\s+(\d+) kB$/m)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

describe('a worker that receives in-band parameter sets of 16000x16000', {
  skip: process.platform !== 'linux',
}, () => {
  for (const codec of ['h264', 'h265', 'av1'] as const satisfies readonly VideoCodec[]) {
    it(`decodes no such frame of ${codec}, allocates no memory for it, and continues with good video`, async () => {
      const { config, units } = oversizedUnits(codec, 16_000, 16_000);
      await using world = setUp(512);
      const { transcoder, trust, made, restarts, peak } = world;
      const clip = makeClip({ frames: 10, gop: 10 });
      transcoder.setTrack({ ...clip.track, codec, config });
      await world.running();
      for (const [index, data] of units.entries()) {
        const at = ticks(index * 3000);
        transcoder.write(asEvent({ kind: 'video', pts: at, dts: at, keyframe: true, data }));
      }
      // FFmpeg's H.265 decoder reports frames of this size as a lack of memory, which ends the worker.
      await until('the parameter sets to be noticed', () => transcoder.stats.decodeErrors > 0 || restarts.length > 0);
      transcoder.setTrack(clip.track);
      await world.running();
      for (const packet of marked(later(clip.packets, ONE_GROUP), ({ keyframe }) => keyframe))
        transcoder.write(asEvent(packet));
      transcoder.flush();
      await until('good frames', () => made.packets === clip.packets.length);
      assert.ok(restarts.length <= 1 && !trust.isRefused);
      assert.ok(peak.bytes > 0 && peak.bytes < 300 * MIB, `the worker had ${Math.round(peak.bytes / MIB)} MiB`);
    });
  }
});

it(
  'video that needs more memory than the limit gets none beyond it, and after two workers no third one',
  NEEDS_PRLIMIT,
  async () => {
    await using world = setUp(256, [...LARGE, SMALL]);
    const { transcoder, trust, restarts, warnings, peak, made } = world;
    const huge = makeClip({ width: 4096, height: 2304, frames: 8, gop: 8, bFrames: 3 });
    const small = makeClip({ frames: 10, gop: 10 });
    transcoder.setTrack(huge.track);
    let at = 0;
    const send = () => {
      for (const packet of marked(later(huge.packets, at), ({ keyframe }) => keyframe))
        transcoder.write(asEvent(packet));
      at += ONE_GROUP;
    };
    await until('the source to be refused', () => {
      if (transcoder.stats.state === 'running' && transcoder.stats.lagMs === 0) send();
      return trust.isRefused;
    });
    assert.equal(transcoder.stats.state, 'refused');
    assert.deepEqual(
      // A worker whose encoder cannot allocate memory may simply exit, because the encoder does not report the cause.
      restarts.map(({ reason }) => (reason === 'exited' ? 'too_much_memory' : reason)),
      ['too_much_memory', 'too_much_memory'],
    );
    assert.equal(warnings.filter((code) => code === 'transcode_source_refused').length, 1);
    assert.ok(peak.bytes <= 256 * 1.1 * MIB, `the worker had ${Math.round(peak.bytes / MIB)} MiB`);

    send();
    transcoder.setTrack({ ...huge.track, config: Uint8Array.of(...huge.track.config, 0) });
    assert.deepEqual(
      [transcoder.stats.state, transcoder.stats.pid],
      ['refused', undefined],
      'video of the same size is not tried again',
    );

    transcoder.setTrack(small.track);
    await world.running();
    for (const packet of marked(later(small.packets, at), ({ keyframe }) => keyframe))
      transcoder.write(asEvent(packet));
    transcoder.flush();
    await until('frames of another size', () => made.packets === small.packets.length);
    assert.deepEqual([trust.isRefused, restarts.length], [false, 2]);
  },
);

it('audio is transcoded even when the video of its session is refused', NEEDS_PRLIMIT, async () => {
  await using world = setUp(256, [...LARGE, SMALL]);
  const { transcoder, trust, made } = world;
  const huge = makeClip({ width: 4096, height: 2304, frames: 8, gop: 8, bFrames: 3 });
  const audio = makeAudioClip({ seconds: 2 });
  transcoder.setTrack(huge.track);
  transcoder.setAudioTrack(audio.track);
  let at = 0;
  await until('the video to be refused', () => {
    if (transcoder.stats.state === 'running' && transcoder.stats.lagMs === 0) {
      for (const packet of marked(later(huge.packets, at), ({ keyframe }) => keyframe))
        transcoder.write(asEvent(packet));
      at += ONE_GROUP;
    }
    return trust.isRefused;
  });
  await world.running();
  const before = made.audio;
  for (const packet of audio.packets) transcoder.write(asEvent(packet));
  for (const packet of huge.packets) transcoder.write(asEvent(packet));
  await until('audio', () => made.audio > before + 50);
  assert.ok(trust.isRefused);
});

it('a source of 4096x2304 and renditions of 1080p and below fit into the default limit', NEEDS_PRLIMIT, async () => {
  await using world = setUp(1280, [...LARGE.slice(2), SMALL]);
  const { transcoder, made, restarts } = world;
  const huge = makeClip({ width: 4096, height: 2304, frames: 8, gop: 8, bFrames: 3 });
  transcoder.setTrack(huge.track);
  await world.running();
  for (const packet of marked(huge.packets, ({ keyframe }) => keyframe)) transcoder.write(asEvent(packet));
  transcoder.flush();
  await until('every frame', () => made.packets === 2 * huge.packets.length);
  assert.deepEqual(restarts, []);
});
