import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { after, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Profile } from '#domain/profile.ts';
import { warningSentence } from '#domain/warnings.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import type { Picture } from '#media/picture.ts';
import type { GapReason } from '#media/session-event.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import { type Logger, silentLogger } from '#telemetry/logger.ts';
import { hearBeeps, makeAudioClip } from '#test/support/audio-clip.ts';
import { later, makeClip, marked, show } from '#test/support/clip.ts';
import { processStat } from '#test/support/process-stat.ts';
import { asEvent, markAt } from '#test/support/tracks.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { ForkServer, type WorkerStarter } from './fork-server.ts';
import { ProcessTranscoder, type WorkerTimeouts } from './process-transcoder.ts';
import { SourceTrust } from './source-trust.ts';
import type { TranscoderRestart, TranscoderWarning } from './transcoder.ts';

const PROFILES: readonly Profile[] = [
  { name: 'large', bitrate: 600_000, fps: 0, width: 480, height: 270 },
  { name: 'small', bitrate: 300_000, fps: 0, width: 320, height: 180 },
];

const forkServer = new ForkServer();
after(() => forkServer[Symbol.dispose]());

const clip = makeClip({ frames: 60, gop: 30 });
const TWO_SECONDS = 180_000;

/** The time between two checks of a worker. */
const TICK_MS = 100;
/**
 * No worker fails because the machine is slow. Tests write seconds of packets at once, so the lag says nothing about the worker's speed, either.
 */
const LONG_TIMEOUTS: Partial<WorkerTimeouts> = {
  graceMs: 600_000,
  hungAfterMs: 600_000,
  startWithinMs: 600_000,
  drainWithinMs: 600_000,
};

/** A clock and checks of workers that stand still until the test moves them. */
function steppedTime(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 1_000_000;
  const clock: Clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
  const pass = (durationMs: number) => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += TICK_MS) {
      nowMs += TICK_MS;
      t.mock.timers.tick(TICK_MS);
    }
  };
  return {
    clock,
    pass,
    /** Lets time pass, in which nothing is read from workers, and then runs what is due every `intervalMs`. */
    holdUp: (durationMs: number, intervalMs = TICK_MS) => {
      nowMs += durationMs;
      t.mock.timers.tick(intervalMs);
    },
  };
}

/** Records all callbacks of a transcoder. */
class Recording {
  readonly tracks = new Map<string, VideoTrack[]>();
  readonly packets = new Map<string, Packet[]>();
  readonly pictures: Picture[] = [];
  readonly audioTracks: AudioTrack[] = [];
  readonly audio: Packet[] = [];
  readonly missing: { readonly id: string; readonly why: GapReason }[] = [];
  readonly warnings: TranscoderWarning[] = [];
  readonly restarts: TranscoderRestart[] = [];
  readonly #ended = { value: false };
  readonly #restarted = Promise.withResolvers<void>();
  /** Resolves when the first worker has ended, before the next one starts. */
  readonly restarted = this.#restarted.promise;

  readonly onTrack = (id: string, track: VideoTrack) =>
    void this.tracks.set(id, [...(this.tracks.get(id) ?? []), track]);
  readonly onPacket = (id: string, packet: Packet) => {
    assert.equal(this.#ended.value, false, 'called after its end');
    this.packets.set(id, [...(this.packets.get(id) ?? []), packet]);
  };
  readonly onMissing = (id: string, why: GapReason) => void this.missing.push({ id, why });
  readonly onAudioTrack = (track: AudioTrack) => void this.audioTracks.push(track);
  readonly onAudioPacket = (packet: Packet) => {
    assert.equal(this.#ended.value, false, 'called after its end');
    this.audio.push(packet);
  };
  readonly onPicture = (picture: Picture) => void this.pictures.push(picture);
  readonly onWarning = (warning: TranscoderWarning) => void this.warnings.push(warning);
  readonly onRestart = (restart: TranscoderRestart) => {
    this.restarts.push(restart);
    this.#restarted.resolve();
  };

  end(): void {
    this.#ended.value = true;
  }

  of(id: string): readonly Packet[] {
    return this.packets.get(id) ?? [];
  }

  show(id: string) {
    return show(this.tracks.get(id)!.at(-1)!.config, this.of(id));
  }
}

interface Options {
  readonly timeouts?: Partial<WorkerTimeouts>;
  readonly memoryMib?: number;
  readonly starter?: WorkerStarter;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly trust?: SourceTrust;
}

function begin(recording: Recording, options: Options = {}) {
  const { timeouts = {}, memoryMib = 768, starter = forkServer, clock = systemClock, logger = silentLogger } = options;
  const { trust = new SourceTrust() } = options;
  return new ProcessTranscoder({
    profiles: PROFILES,
    settings: { preset: 'ultrafast', threads: 1, memoryMib },
    callbacks: recording,
    trust,
    forkServer: starter,
    clock,
    logger,
    timeouts: { ...LONG_TIMEOUTS, ...timeouts },
  });
}

/** Waits for something that must happen, however busy the machine is. */
const until = (what: string, condition: () => boolean) => waitFor(condition, { what, timeoutMs: 120_000 });

const workedOff = (transcoder: ProcessTranscoder) =>
  until('the worker to process everything', () => transcoder.stats.state === 'running' && transcoder.stats.lagMs === 0);
const running = (transcoder: ProcessTranscoder) => until('the worker', () => transcoder.stats.state === 'running');

/** Sends a group that begins with a keyframe again and again, each later than the last, until a condition holds. */
async function keepSending(transcoder: ProcessTranscoder, at: { pts: number }, enough: () => boolean): Promise<void> {
  const group = marked(clip.packets.slice(0, 3), (packet) => packet.keyframe);
  await until('renditions', () => {
    for (const packet of later(group, at.pts)) transcoder.write(asEvent(packet));
    at.pts += 9000;
    return enough();
  });
}

it('makes every rendition with the times, frames and segment starts of its source', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording);
  const source = marked(clip.packets, (packet) => packet.keyframe);
  transcoder.setTrack(clip.track);
  await running(transcoder);
  for (const packet of source) transcoder.write(asEvent(packet));
  await workedOff(transcoder);
  await transcoder[Symbol.asyncDispose]();
  recording.end();
  for (const [id, width, height] of [
    ['small', 320, 180],
    ['large', 480, 270],
  ] as const) {
    const shown = recording.show(id);
    assert.deepEqual(
      shown.map(({ pts, code }) => [pts, code?.counter]),
      source.map(({ pts }, index) => [pts, index]),
    );
    assert.ok(shown.every((frame) => frame.width === width && frame.height === height));
    assert.deepEqual(
      recording.of(id).flatMap(({ pts, keyframe, mark }) => (keyframe ? [[pts, mark?.ordinal]] : [])),
      [
        [0, 0],
        [90_000, 1],
      ],
    );
    assert.deepEqual(
      recording.tracks.get(id)?.map((track) => [track.width, track.height]),
      [[width, height]],
    );
  }
  assert.deepEqual(
    recording.pictures.map(({ kind, atS, jpeg }) => [kind, atS, Buffer.from(jpeg.subarray(0, 2)).toString('hex')]),
    [
      ['poster', 0, 'ffd8'],
      ['tile', 0, 'ffd8'],
    ],
  );
  assert.deepEqual([recording.warnings, recording.restarts, transcoder.stats.droppedPackets], [[], [], 0]);
});

it('transcodes audio to AAC at its time, whatever happens to the video', { timeout: 120_000 }, async () => {
  const recording = new Recording();
  await using transcoder = begin(recording, { timeouts: { firstPauseMs: 500 } });
  const audio = makeAudioClip({ seconds: 6 });
  const [before, lost, after] = [-1, 2.5, 3.3].map((fromS, index, all) =>
    audio.packets.filter(({ pts }) => pts >= (fromS + 1) * 48_000 && pts < ((all[index + 1] ?? 6) + 1) * 48_000),
  );
  transcoder.setAudioTrack(audio.track);
  for (const packet of before!) transcoder.write(asEvent(packet));
  // The worker was still starting, so nothing was lost.
  await until('audio', () => recording.audio.length > 2.4 * 46);
  assert.deepEqual(
    recording.audioTracks.map(({ codecString }) => codecString),
    ['mp4a.40.2'],
  );
  process.kill(transcoder.stats.pid!, 'SIGKILL');
  await recording.restarted;
  for (const packet of lost!) transcoder.write(asEvent(packet));
  await running(transcoder);
  for (const packet of after!) transcoder.write(asEvent(packet));
  // On a busy machine, a worker may not encode everything within its drain deadline, so the test first waits until nearly all of it is there.
  const nearlyAll = after!.at(-1)!.pts - 4 * 1024;
  await until('audio after the pause', () => recording.audio.at(-1)!.pts >= nearlyAll);
  await transcoder[Symbol.asyncDispose]();
  recording.end();
  assert.equal(recording.audioTracks.length, 1, 'the same track is not announced again');
  for (const [index, { pts }] of recording.audio.entries()) {
    assert.equal(pts, recording.audio[0]!.pts + index * 1024, 'a short pause becomes silence, and not a hole');
  }
  const beeps = hearBeeps(recording.audioTracks[0]!, recording.audio);
  assert.deepEqual(
    beeps.map((beep) => Math.round(beep / 480) / 100),
    [1, 2, 3, 5, 6],
  );
});

it('drops audio for a worker that does not read, and reports that it is missing', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording, { timeouts: { firstPauseMs: 600_000 } });
  const audio = makeAudioClip({ seconds: 1 });
  transcoder.setAudioTrack(audio.track);
  await running(transcoder);
  process.kill(transcoder.stats.pid!, 'SIGSTOP');
  const large = { ...audio.packets[0]!, data: Buffer.alloc(64 * 1024) };
  await until('the loss to be reported', () => {
    for (let packet = 0; packet < 16; packet += 1) transcoder.write(asEvent(large));
    return recording.missing.length > 0;
  });
  assert.deepEqual(recording.missing[0], { id: 'audio', why: 'lost' });
  assert.ok(transcoder.stats.queuedBytes < 5 << 20);
  process.kill(transcoder.stats.pid!, 'SIGKILL');
});

it('survives kills of its worker, reaps each, and resumes renditions at a marked keyframe', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording, { timeouts: { firstPauseMs: 1, maxPauseMs: 10 } });
  transcoder.setTrack(clip.track);
  const at = { pts: 0 };
  const pids: number[] = [];
  for (let kill = 1; kill <= 4; kill += 1) {
    const before = recording.of('small').length;
    await keepSending(transcoder, at, () => recording.of('small').length > before);
    const pid = transcoder.stats.pid!;
    pids.push(pid);
    const resumesAt = at.pts;
    process.kill(pid, 'SIGKILL');
    await until('the kill to be noticed', () => recording.restarts.length === kill);
    await keepSending(transcoder, at, () => recording.of('small').some(({ pts }) => pts >= resumesAt));
    const first = recording.of('small').find(({ pts }) => pts >= resumesAt)!;
    assert.ok(first.keyframe && first.mark !== undefined);
  }
  await transcoder[Symbol.asyncDispose]();
  assert.ok(recording.restarts.every(({ reason, exit }) => reason === 'exited' && exit === 'SIGKILL'));
  assert.deepEqual(pids.filter(isThere), []);
  assert.equal(recording.tracks.get('small')?.length, 1, 'the same track is not announced again');
  const times = recording.of('small').map(({ dts }) => dts);
  assert.deepEqual(
    times,
    [...new Set(times)].sort((a, b) => a - b),
    'times never go back',
  );
});

it('does not blame the source for workers that crash while they start', async () => {
  const recording = new Recording();
  let crashes = 3;
  const starter: WorkerStarter = {
    start: (program, events) =>
      forkServer.start(program, {
        ...events,
        onStarted: (pid, connection) => {
          if (crashes-- > 0) process.kill(pid, 'SIGSEGV');
          events.onStarted(pid, connection);
        },
      }),
    kill: (worker) => forkServer.kill(worker),
    limitMemory: (worker, limitBytes) => forkServer.limitMemory(worker, limitBytes),
  };
  const trust = new SourceTrust();
  await using transcoder = begin(recording, { starter, trust, timeouts: { firstPauseMs: 1, maxPauseMs: 10 } });
  transcoder.setTrack(clip.track);
  await keepSending(transcoder, { pts: 0 }, () => recording.of('small').length > 0 || trust.isRefused);
  assert.equal(trust.isRefused, false);
  assert.deepEqual(
    recording.restarts.map(({ reason, exit }) => [reason, exit]),
    [1, 2, 3].map(() => ['exited', 'SIGSEGV']),
  );
});

it('refuses a source after two workers that had it crashed', async () => {
  const recording = new Recording();
  const trust = new SourceTrust();
  await using transcoder = begin(recording, { trust, timeouts: { firstPauseMs: 1, maxPauseMs: 10 } });
  transcoder.setTrack(clip.track);
  for (const restarts of [1, 2]) {
    await running(transcoder);
    process.kill(transcoder.stats.pid!, 'SIGSEGV');
    await until('the crash to be noticed', () => recording.restarts.length === restarts);
    assert.equal(trust.isRefused, restarts === 2);
  }
});

it('has a worker of lower priority, which ignores the signals of a terminal', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording);
  transcoder.setTrack(clip.track);
  const at = { pts: 0 };
  await keepSending(transcoder, at, () => recording.of('small').length > 0);
  const pid = transcoder.stats.pid!;
  assert.equal(processStat(pid)?.session, processStat(process.pid)!.session, 'priorities count only within a session');
  assert.ok(getPriority(pid) > getPriority());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.kill(pid, signal);
    const before = recording.of('small').length;
    await keepSending(transcoder, at, () => recording.of('small').length > before);
  }
  await transcoder[Symbol.asyncDispose]();
  assert.deepEqual([recording.restarts, isThere(pid)], [[], false]);
});

it('replaces a worker that hangs', async (t) => {
  const recording = new Recording();
  const { clock, pass } = steppedTime(t);
  await using transcoder = begin(recording, { timeouts: { hungAfterMs: 5000, firstPauseMs: 1 }, clock });
  transcoder.setTrack(clip.track);
  const at = { pts: 0 };
  await keepSending(transcoder, at, () => recording.of('large').length > 0);
  const pid = transcoder.stats.pid!;
  process.kill(pid, 'SIGSTOP');
  pass(4900);
  assert.equal(isThere(pid), true);
  pass(200);
  await until('the worker to be gone', () => !isThere(pid));
  await recording.restarted;
  assert.equal(recording.restarts.at(-1)?.reason, 'hung');
  const before = recording.of('large').length;
  await keepSending(transcoder, at, () => recording.of('large').length > before);
  await transcoder[Symbol.asyncDispose]();
});

it('replaces a worker that does not read the many messages that a publisher causes', async () => {
  const recording = new Recording();
  const never = { firstPauseMs: 600_000, maxPauseMs: 600_000 };
  await using transcoder = begin(recording, { timeouts: never });
  transcoder.setTrack(clip.track);
  await running(transcoder);
  process.kill(transcoder.stats.pid!, 'SIGSTOP');
  let pts = 0;
  const huge = marked(clip.packets.slice(0, 1), () => true).map((packet) => ({
    ...packet,
    data: Buffer.alloc(4 << 20),
  }));
  let queuedBytes = 0;
  await until('a restart', () => {
    pts += 3000;
    for (const packet of later(huge, pts)) transcoder.write(asEvent(packet));
    transcoder.flush();
    queuedBytes = Math.max(queuedBytes, transcoder.stats.queuedBytes);
    return recording.restarts.length > 0 || queuedBytes > 1 << 30;
  });
  assert.equal(recording.restarts[0]?.reason, 'hung', `${queuedBytes} bytes were queued`);
});

it('sheds the largest rendition when its worker is too slow, and drops frames rather than wait', async (t) => {
  const recording = new Recording();
  const { clock, pass } = steppedTime(t);
  await using transcoder = begin(recording, { timeouts: { graceMs: 0 }, clock });
  transcoder.setTrack(clip.track);
  const at = { pts: 0 };
  await keepSending(transcoder, at, () => recording.of('large').length > 0);
  const pid = transcoder.stats.pid!;
  process.kill(pid, 'SIGSTOP');
  await keepSending(transcoder, at, () => {
    pass(TICK_MS);
    return recording.warnings.some(({ code }) => code === 'transcode_frames_dropped');
  });
  assert.deepEqual(recording.warnings[0], { code: 'transcode_rendition_shed', renditionId: 'large' });
  assert.deepEqual(transcoder.stats.shed, ['large']);
  assert.ok(transcoder.stats.droppedPackets > 0);
  process.kill(pid, 'SIGCONT');
  const resumesAt = at.pts;
  await keepSending(transcoder, at, () => recording.of('small').some(({ pts }) => pts >= resumesAt));
  assert.deepEqual(
    recording.of('large').filter(({ pts }) => pts >= resumesAt),
    [],
  );
  assert.deepEqual(recording.restarts, []);
});

it('does not shed, drop or kill anything because the server itself was held up', async (t) => {
  const recording = new Recording();
  const { clock, holdUp } = steppedTime(t);
  const drainWithinMs = 2000;
  await using transcoder = begin(recording, { timeouts: { graceMs: 0, drainWithinMs }, clock });
  transcoder.setTrack(clip.track);
  await running(transcoder);
  const source = marked(clip.packets, (packet) => packet.keyframe);
  for (const packet of source.slice(0, 6)) transcoder.write(asEvent(packet));
  holdUp(2500);
  await workedOff(transcoder);
  for (const packet of source.slice(6)) transcoder.write(asEvent(packet));
  const disposal = transcoder[Symbol.asyncDispose]();
  holdUp(5000, drainWithinMs);
  await disposal;
  assert.deepEqual([recording.warnings, recording.missing, transcoder.stats.droppedPackets], [[], [], 0]);
  assert.deepEqual([recording.of('large').length, recording.of('small').length], [60, 60]);
});

it('kills a worker that does not hand out its last packets in time', async (t) => {
  const recording = new Recording();
  const { clock, pass } = steppedTime(t);
  await using transcoder = begin(recording, { timeouts: { drainWithinMs: 2000 }, clock });
  transcoder.setTrack(clip.track);
  await running(transcoder);
  process.kill(transcoder.stats.pid!, 'SIGSTOP');
  const disposal = transcoder[Symbol.asyncDispose]();
  pass(2000);
  await disposal;
});

it('reports a restored rendition as shed until its first new segment begins', async (t) => {
  const recording = new Recording();
  const { clock, pass } = steppedTime(t);
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, text) => void lines.push(text) };
  /** Lets time pass until a line was logged. */
  const logged = (line: string) =>
    until(line, () => {
      pass(TICK_MS);
      return lines.includes(line);
    });
  await using transcoder = begin(recording, { timeouts: { graceMs: 0 }, clock, logger });
  transcoder.setTrack(clip.track);
  const at = { pts: 0 };
  await keepSending(transcoder, at, () => recording.of('large').length > 0);
  await workedOff(transcoder);
  process.kill(transcoder.stats.pid!, 'SIGSTOP');
  /** Sends a group, with a mark or without one. */
  const send = (isMarked: boolean) => {
    for (const packet of later(clip.packets.slice(0, 3), at.pts)) {
      const isStart = isMarked && packet.keyframe;
      transcoder.write(asEvent(isStart ? { ...packet, mark: markAt(at.pts / 9000) } : packet));
    }
    at.pts += 9000;
  };
  send(true);
  await logged('rendition shed');
  process.kill(transcoder.stats.pid!, 'SIGCONT');
  await workedOff(transcoder);
  pass(9000); // a worker must keep up for a while
  await logged('rendition restored');
  const before = recording.of('small').length;
  send(false);
  await until('packets of the segment before', () => recording.of('small').length > before);
  assert.deepEqual(transcoder.stats.shed, ['large']);
  const restored = { code: 'transcode_rendition_restored', renditionId: 'large' } as const;
  assert.equal(recording.warnings.length, 1, 'it is not reported as restored yet');
  send(true);
  send(false);
  await until('the rendition', () => recording.of('large').some(({ pts }) => pts >= at.pts - 18_000));
  assert.deepEqual([transcoder.stats.shed, recording.warnings.at(-1)], [[], restored]);
});

it('has shed no rendition of a source that it refuses', async (t) => {
  const recording = new Recording();
  const { clock, pass } = steppedTime(t);
  const timeouts = { graceMs: 0, firstPauseMs: 1, maxPauseMs: 10 };
  const trust = new SourceTrust();
  await using transcoder = begin(recording, { timeouts, clock, trust });
  transcoder.setTrack(clip.track);
  await keepSending(transcoder, { pts: 0 }, () => recording.of('large').length > 0);
  await workedOff(transcoder);
  process.kill(transcoder.stats.pid!, 'SIGSTOP');
  for (const packet of later(clip.packets.slice(0, 3), TWO_SECONDS)) transcoder.write(asEvent(packet));
  await until('a rendition to be shed', () => {
    pass(TICK_MS);
    return transcoder.stats.shed.length > 0;
  });
  process.kill(transcoder.stats.pid!, 'SIGCONT');
  for (const restarts of [1, 2]) {
    await running(transcoder);
    process.kill(transcoder.stats.pid!, 'SIGSEGV');
    await until('the crash to be noticed', () => recording.restarts.length === restarts);
  }
  assert.deepEqual([trust.isRefused, transcoder.stats.shed], [true, []]);
});

it('replaces a worker that uses too much memory', async () => {
  const recording = new Recording();
  // If the kernel limited its memory, the worker could end before its memory is measured.
  const starter: WorkerStarter = {
    start: (program, callbacks) => forkServer.start(program, callbacks),
    kill: (worker) => forkServer.kill(worker),
    limitMemory: async () => false,
  };
  await using transcoder = begin(recording, { memoryMib: 10, starter, timeouts: { firstPauseMs: 1 } });
  transcoder.setTrack(clip.track);
  await until('a restart', () => recording.restarts.length > 0);
  await transcoder[Symbol.asyncDispose]();
  assert.equal(recording.restarts[0]?.reason, 'too_much_memory');
});

it('warns of audio that cannot be decoded, also without any video', async () => {
  const { track, packets } = makeAudioClip({ seconds: 0.1 });
  const recording = new Recording();
  await using transcoder = begin(recording);
  transcoder.setAudioTrack(track);
  await running(transcoder);
  for (const packet of packets) transcoder.write(asEvent({ ...packet, data: Uint8Array.of(0xff, 0x41, 0xff) }));
  await until('a warning', () => recording.warnings.length > 0);
  const { code } = recording.warnings[0]!;
  assert.ok(code === 'transcode_source_damaged');
  assert.match(warningSentence({ code }), /audio/);
});

it('reports audio that it cannot decode as missing', async () => {
  const { track, packets } = makeAudioClip({ seconds: 3 });
  const recording = new Recording();
  await using transcoder = begin(recording);
  transcoder.setAudioTrack(track);
  await running(transcoder);
  for (const [index, packet] of packets.entries()) {
    transcoder.write(asEvent(index < 50 ? packet : { ...packet, data: Uint8Array.of(0xff, 0x41, 0xff) }));
  }
  await until('a report', () => recording.missing.length > 0);
  assert.deepEqual(recording.missing, [{ id: 'audio', why: 'lost' }]);
  assert.deepEqual(recording.restarts, []);
});

it('continues after packets that cannot be decoded', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording);
  transcoder.setTrack(clip.track);
  await running(transcoder);
  const source = marked(clip.packets, (packet) => packet.keyframe).map((packet, index) =>
    index % 30 === 10 ? { ...packet, data: Buffer.from('this is not an access unit') } : packet,
  );
  for (const packet of source) transcoder.write(asEvent(packet));
  await workedOff(transcoder);
  await until('a warning', () => recording.warnings.length > 0);
  await transcoder[Symbol.asyncDispose]();
  assert.equal(recording.warnings[0]?.code, 'transcode_source_damaged');
  const counters = recording.show('small').map(({ code }) => code?.counter);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  assert.deepEqual(counters, [...range(0, 10), ...range(30, 40)]);
});

it('survives bitstreams with random damage, and makes good frames after them', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording, { timeouts: { firstPauseMs: 1, maxPauseMs: 10 } });
  transcoder.setTrack(clip.track);
  await running(transcoder);
  const source = marked(clip.packets, ({ keyframe }) => keyframe);
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 20 });
  let at = 0;
  for (const places of fc.sample(damage, { numRuns: 15, seed: 20_261_120 })) {
    for (const packet of later(source.slice(0, 20), at)) {
      const data = Buffer.from(packet.data);
      // The lengths of NAL units are checked before a packet arrives here, but not their contents.
      for (const [place, value] of places) data[4 + (place % (data.length - 4))] = value;
      transcoder.write(asEvent({ ...packet, data }));
    }
    at += TWO_SECONDS;
    await until(
      'the damaged packets to be processed',
      () => transcoder.stats.state === 'running' && transcoder.stats.lagMs === 0,
    );
  }
  const goodFrom = at;
  for (const packet of later(source, goodFrom)) transcoder.write(asEvent(packet));
  await workedOff(transcoder);
  transcoder.flush();
  const good = () => recording.of('large').filter(({ pts }) => pts >= goodFrom);
  await until('the last group', () => good().length === 60);
  const shown = show(recording.tracks.get('large')!.at(-1)!.config, good());
  assert.deepEqual(
    shown.map(({ code }) => code?.counter),
    source.map((_, index) => index),
  );
});

it('changes the resolution in the middle, and hands out all earlier frames first with their own size', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording);
  // The new size is too small for the first profile, so that the second one becomes the first rendition.
  const other = makeClip({ width: 320, height: 240, frames: 6 });
  transcoder.setTrack(clip.track);
  await running(transcoder);
  for (const packet of marked(clip.packets.slice(0, 5), ({ keyframe }) => keyframe)) transcoder.write(asEvent(packet));
  const { leftOut } = transcoder.setTrack(other.track);
  assert.deepEqual(leftOut, [{ profile: 'large', reason: 'larger_than_source' }]);
  for (const packet of marked(later(other.packets, TWO_SECONDS), ({ keyframe }) => keyframe))
    transcoder.write(asEvent(packet));
  await workedOff(transcoder);
  transcoder.flush();
  await until('the rest', () => recording.of('small').length === 11);
  assert.deepEqual(
    ['large', 'small'].map((id) => recording.tracks.get(id)?.map(({ width, height }) => [width, height])),
    [
      [[480, 270]],
      [
        [320, 180],
        [240, 180],
      ],
    ],
  );
  assert.deepEqual(
    recording.show('large').map(({ width, code }) => [width, code?.counter]),
    [0, 1, 2, 3, 4].map((counter) => [480, counter]),
  );
  assert.deepEqual(recording.restarts, []);
});

it('hands out the frames held by the encoders when the publisher is gone', async () => {
  const recording = new Recording();
  await using transcoder = begin(recording);
  transcoder.setTrack(clip.track);
  await running(transcoder);
  for (const packet of marked(clip.packets, ({ keyframe }) => keyframe)) transcoder.write(asEvent(packet));
  transcoder.flush();
  await until('the rest', () => recording.of('small').length === 60 && recording.of('large').length === 60);
  await transcoder[Symbol.asyncDispose]();
});

it('has no secrets in its arguments and environment', { skip: process.platform !== 'linux' }, async () => {
  await using transcoder = begin(new Recording());
  transcoder.setTrack(clip.track);
  await running(transcoder);
  const { pid } = transcoder.stats;
  assert.match(readFileSync(`/proc/${pid}/environ`, 'utf8'), /^(NODE_COMPILE_CACHE=[^\0]+\0)?$/);
  assert.match(
    readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    /^[^\0]+\0--max-old-space-size=64\0[^\0]+\/worker\/main\.ts\0$/,
  );
  await transcoder[Symbol.asyncDispose]();
});

it('leaves no process and no handle', async () => {
  const handles = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process|Timeout/.test(name)).length;
  const before = handles();
  for (let round = 0; round < 3; round += 1) {
    await using transcoder = begin(new Recording());
    transcoder.setTrack(clip.track);
    await running(transcoder);
    await Promise.all([transcoder[Symbol.asyncDispose](), transcoder[Symbol.asyncDispose]()]);
    assert.equal(isThere(transcoder.stats.pid ?? -1), false);
  }
  await until('the handles to be closed', () => handles() <= before);
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid > 0;
  } catch {
    return false;
  }
}
