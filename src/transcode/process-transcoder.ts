/**
 * The transcoder in a process of its own: feeds a worker, listens to it, and replaces it when it fails.
 */
import type { Profile } from '#domain/profile.ts';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { ticks } from '#lib/units.ts';
import { parseAudioSpecificConfig } from '#media/codecs/aac.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import { packetSamples } from '#media/codecs.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import { type AudioTrack, sameTrack, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { TranscodeSettings } from './config.ts';
import { Feed } from './feed.ts';
import { FramingError } from './framing.ts';
import { OverloadPolicy } from './overload-policy.ts';
import { type LadderPlan, planRenditions, type RenditionPlan } from './rendition-plan.ts';
import type { Transcoder, TranscoderCallbacks, TranscoderStats } from './transcoder.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';
import {
  type AudioPacket,
  type FromWorker,
  PROTOCOL_VERSION,
  type RenditionPacket,
  type SourceDescription,
  type WorkerHealth,
} from './worker-protocol.ts';

/** How often the worker is looked at. */
const TICK_MS = 100;
/** A worker that ran this long did not fail for what its predecessor failed for. */
const STABLE_MS = 30_000;
/** Time for the last packets at disposal. */
const FAREWELL_MS = 2000;
/** Marks a worker may still answer to: what it can have in hand, many times over. */
const MAX_MARKS = 64;
/** Sound is sent at once, without waiting for what was sent before; a worker that does not read loses it beyond this. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/** What is expected of a source that does not declare its rate. */
const USUAL_FRAME_RATE = 30;

/** When a worker counts as failed. The defaults suit a service; tests are less patient. */
export interface Patience {
  /** Time without a sign of life, which is due twice a second. */
  readonly hungAfterMs: number;
  /** The same for one that has not said `ready` yet: it loads a large library, perhaps from a cold disk. */
  readonly startWithinMs: number;
  /** A worker that has just begun works off what waited for it; its lag means nothing before it had this long. */
  readonly graceMs: number;
  /** Pause before a worker is replaced, doubled at every failure in a row. */
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}

const PATIENCE: Patience = {
  hungAfterMs: 5000,
  startWithinMs: 20_000,
  graceMs: 3000,
  firstPauseMs: 100,
  maxPauseMs: 10_000,
};

/** What a session's transcoder needs. */
export interface ProcessTranscoderOptions {
  readonly profiles: readonly Profile[];
  readonly settings: Pick<TranscodeSettings, 'preset' | 'threads' | 'memoryMib'>;
  readonly callbacks: TranscoderCallbacks;
  readonly clock: Clock;
  /** With the session's ids. */
  readonly logger: Logger;
  readonly patience?: Partial<Patience>;
}

/** A {@link Transcoder}; the worker is started with the first track. */
export class ProcessTranscoder implements Transcoder {
  readonly #options: ProcessTranscoderOptions;
  readonly #patience: Patience;
  readonly #pauses: Backoff;
  readonly #feed = new Feed();
  readonly #policy = new OverloadPolicy([]);
  /** By time: those whose rendition packets may still come. */
  readonly #marks = new Map<number, SegmentMark>();
  readonly #outputs = new Map<string, { track: VideoTrack | undefined; lastDts: number }>();
  #state: TranscoderStats['state'] = 'starting';
  #source: SourceDescription | undefined;
  #audioSource: AudioTrack | undefined;
  /** What sound becomes; and the end of its last packet, in samples. */
  #audioOutput: AudioTrack | undefined;
  #audioEnd = 0;
  /** End of the sound sent: what comes back begins before it. */
  #audioSentEnd = 0;
  /** What this worker was told and has not begun, then what its packets belong to. */
  #announced: (readonly RenditionPlan[])[] = [];
  #begun: readonly RenditionPlan[] = [];
  #declaredFrameRate: number | undefined;
  #worker: WorkerProcess | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #silentTicks = 0;
  #readyAt = 0;
  #restarts = 0;
  #health: WorkerHealth = { rssBytes: 0, cpuMs: 0, decodeErrors: 0 };
  /** Of workers that are gone. */
  #past = { cpuMs: 0, decodeErrors: 0 };
  #disposal: Promise<void> | undefined;

  constructor(options: ProcessTranscoderOptions) {
    this.#options = options;
    this.#patience = { ...PATIENCE, ...options.patience };
    this.#pauses = new Backoff({ firstMs: this.#patience.firstPauseMs, maxMs: this.#patience.maxPauseMs });
  }

  get stats(): TranscoderStats {
    return {
      state: this.#state,
      pid: this.#worker?.pid,
      restarts: this.#restarts,
      lagMs: this.#feed.lagMs(this.#options.clock.monotonic()),
      shed: this.#policy.shed,
      droppedPackets: this.#feed.dropped,
      decodeErrors: this.#past.decodeErrors + this.#health.decodeErrors,
      queuedBytes: this.#feed.waitingBytes,
      rssBytes: this.#health.rssBytes,
      cpuMs: this.#past.cpuMs + this.#health.cpuMs,
    };
  }

  setTrack(track: VideoTrack): LadderPlan {
    const plan = planRenditions(this.#options.profiles, track);
    this.#pump({ all: true });
    this.#feed.reset();
    this.#declaredFrameRate = track.declaredFrameRate;
    const { codec, config, width, height } = track;
    const framesPerSecond = track.declaredFrameRate ?? USUAL_FRAME_RATE;
    this.#source = { codec, config, width, height, framesPerSecond, renditions: plan.renditions };
    this.#policy.replaceOrder(largestFirst(plan.renditions));
    if (this.#ticker === undefined) this.#start();
    else this.#sendSource();
    return plan;
  }

  setAudioTrack(track: AudioTrack): void {
    this.#audioSource = track;
    if (this.#ticker === undefined) this.#start();
    else this.#sendAudioSource();
  }

  write(packet: Packet): void {
    if (this.#state === 'ended') return;
    if (packet.kind === 'audio') {
      this.#sendAudio(packet);
      return;
    }
    if (this.#source === undefined) return;
    this.#feed.offer(packet, this.#options.clock.monotonic());
    this.#pump();
  }

  flush(): void {
    if (this.#state !== 'running') return;
    this.#pump({ all: true });
    this.#worker?.send({ type: 'flush' });
    this.#feed.sent(this.#options.clock.monotonic());
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    this.#pump({ all: true });
    this.#state = 'ended';
    clearTimeout(this.#pause);
    clearInterval(this.#ticker);
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.end();
    const deadline = setTimeout(() => worker.kill('hung'), FAREWELL_MS);
    await worker.ended;
    clearTimeout(deadline);
  }

  #start(): void {
    this.#state = 'starting';
    this.#silentTicks = 0;
    const { preset, threads } = this.#options.settings;
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
    const job = { version: PROTOCOL_VERSION, preset, threads, thumbnails: true };
    try {
      this.#worker = new WorkerProcess(job, {
        onMessage: (message) => this.#onMessage(message),
        onEnd: (end) => this.#onEnd(end),
      });
    } catch (error) {
      // Some of a system's refusals are thrown, others come as an event.
      setImmediate(() => this.#onEnd({ reason: 'not_started', exit: undefined, words: String(error) }));
    }
    this.#sendSource();
    this.#sendAudioSource();
  }

  #sendAudioSource(): void {
    if (this.#audioSource === undefined) return;
    const { codec, config, sampleRate, channels } = this.#audioSource;
    const continued = this.#audioEnd > 0 ? { continuesAt: this.#audioEnd } : {};
    this.#worker?.send({ type: 'audio_source', source: { codec, config, sampleRate, channels, ...continued } });
  }

  #sendAudio({ pts, data }: Packet): void {
    if (this.#audioSource === undefined || this.#worker === undefined) return;
    if (this.#worker.queuedBytes > MAX_QUEUED_BYTES) return;
    this.#audioSentEnd = pts + packetSamples(this.#audioSource, data);
    this.#worker.send({ type: 'audio', packet: { pts, data } });
  }

  #sendSource(): void {
    if (this.#source === undefined || this.#worker === undefined) return;
    this.#worker.send({ type: 'source', source: this.#source });
    this.#announced.push(this.#source.renditions);
    if (this.#policy.shed.length > 0) this.#sendActive();
  }

  #sendActive(): void {
    const { shed } = this.#policy;
    const renditions = (this.#source?.renditions ?? []).flatMap(({ id }, index) => (shed.includes(id) ? [] : [index]));
    this.#worker?.send({ type: 'active', renditions });
  }

  /** Gives the worker what it may have. */
  #pump(options: { all?: boolean } = {}): void {
    for (;;) {
      const fed = this.#feed.next(options);
      if (fed === undefined) return;
      const { mark, pts } = fed.packet;
      if (mark !== undefined) {
        this.#marks.set(pts, mark);
        if (this.#marks.size > MAX_MARKS) this.#marks.delete(this.#marks.keys().next().value!);
      }
      this.#worker?.send({ type: 'packet', ...fed });
    }
  }

  /** @throws {FramingError} when the worker says what it must not */
  #onMessage(message: FromWorker): void {
    this.#silentTicks = 0;
    switch (message.type) {
      case 'ready':
        this.#onReady(message.version);
        break;
      case 'begun':
        this.#begun = this.#announced.shift() ?? [];
        break;
      case 'done':
        if (!this.#feed.done(message.count)) throw new FramingError('It dealt with more packets than it was given.');
        this.#pump();
        break;
      case 'config':
        this.#onConfig(this.#rendition(message.rendition), message.config);
        break;
      case 'packet':
        this.#onPacket(this.#rendition(message.packet.rendition), message.packet);
        break;
      case 'audio_config':
        this.#onAudioConfig(message.config);
        break;
      case 'audio':
        this.#onAudio(message.packet);
        break;
      case 'thumbnail':
        this.#options.callbacks.onThumbnail(message.jpeg);
        break;
      case 'health':
        this.#onHealth(message.health);
        break;
    }
  }

  #onReady(version: number): void {
    if (version !== PROTOCOL_VERSION) throw new FramingError(`It speaks version ${version}, not ${PROTOCOL_VERSION}.`);
    if (this.#state !== 'starting') return;
    this.#state = 'running';
    this.#readyAt = this.#options.clock.monotonic();
    this.#feed.open();
    this.#pump();
  }

  #rendition(index: number): RenditionPlan {
    const rendition = this.#begun[index];
    if (rendition === undefined) throw new FramingError(`It has no rendition ${index}.`);
    return rendition;
  }

  #onConfig({ id, frameRate }: RenditionPlan, config: Uint8Array): void {
    const declaredFrameRate = frameRate === undefined ? this.#declaredFrameRate : frameRate.num / frameRate.den;
    const track: VideoTrack = { ...parseAvcConfig(config), declaredFrameRate };
    const output = this.#outputs.get(id);
    if (output?.track !== undefined && sameTrack(output.track, track)) return;
    this.#outputs.set(id, { track, lastDts: output?.lastDts ?? -1 });
    this.#options.callbacks.onTrack(id, track);
  }

  #onPacket({ id }: RenditionPlan, { pts, dts, keyframe, cut, data }: RenditionPacket): void {
    const output = this.#outputs.get(id);
    const mark = cut ? this.#marks.get(pts) : undefined;
    // x264 begins B-frames before the first picture's time; a session's times begin at 0 and never go back.
    const orderedDts = Math.max(dts, (output?.lastDts ?? -1) + 1);
    if (output === undefined || orderedDts > pts || data.length === 0 || (cut && !(keyframe && mark !== undefined))) {
      throw new FramingError(`It sent a packet that cannot be: pts ${pts}, dts ${dts}, ${data.length} bytes.`);
    }
    output.lastDts = orderedDts;
    const packet: Packet = { kind: 'video', pts: ticks(pts), dts: ticks(orderedDts), keyframe, data };
    this.#options.callbacks.onPacket(
      id,
      mark === undefined ? packet : { ...packet, mark: { ...mark, independent: true } },
    );
  }

  #onAudioConfig(config: Uint8Array): void {
    const track = parseAudioSpecificConfig(config);
    if (this.#audioOutput !== undefined && sameTrack(this.#audioOutput, track)) return;
    this.#audioOutput = track;
    this.#options.callbacks.onAudioTrack(track);
  }

  #onAudio({ pts, data }: AudioPacket): void {
    const track = this.#audioOutput;
    if (track === undefined || pts >= this.#audioSentEnd || data.length === 0) {
      throw new FramingError(`It sent sound that cannot be: pts ${pts}, ${data.length} bytes.`);
    }
    // A new encoder begins a packet before its first sound.
    if (pts < this.#audioEnd) return;
    this.#audioEnd = pts + track.samplesPerPacket;
    this.#options.callbacks.onAudioPacket({ kind: 'audio', pts: ticks(pts), dts: ticks(pts), keyframe: true, data });
  }

  #onHealth(health: WorkerHealth): void {
    const damaged = health.decodeErrors > this.#health.decodeErrors;
    this.#health = health;
    if (damaged) this.#options.callbacks.onWarning({ code: 'transcode_source_damaged' });
    if (health.rssBytes > this.#options.settings.memoryMib * 1024 * 1024) this.#worker?.kill('too_much_memory');
  }

  #tick(): void {
    // Counted in turns of this loop, not read from a clock: a server that was held up itself must not blame its worker.
    this.#silentTicks += 1;
    const { hungAfterMs, startWithinMs } = this.#patience;
    const patienceMs = this.#state === 'running' ? hungAfterMs : startWithinMs;
    if (this.#worker !== undefined && this.#silentTicks * TICK_MS > patienceMs) this.#worker.kill('hung');
    if (this.#state === 'running') this.#relieve();
  }

  /** Gives up what the worker cannot do in time, and takes it up again. */
  #relieve(): void {
    const nowMs = this.#options.clock.monotonic();
    const lagMs = this.#feed.lagMs(nowMs);
    if (nowMs - this.#readyAt < this.#patience.graceMs) return;
    const action = this.#policy.judge(lagMs, nowMs);
    if (action === undefined) return;
    const { callbacks, logger } = this.#options;
    switch (action.type) {
      case 'skip':
        this.#feed.skip();
        callbacks.onWarning({ code: 'transcode_frames_dropped' });
        logger.warn({ lagMs }, 'transcoder skips to a keyframe');
        break;
      case 'shed':
      case 'restore': {
        const { type, renditionId } = action;
        this.#sendActive();
        const code = type === 'shed' ? 'transcode_rendition_shed' : 'transcode_rendition_restored';
        callbacks.onWarning({ code, renditionId });
        logger.warn({ code, renditionId, lagMs }, type === 'shed' ? 'rendition given up' : 'rendition taken up again');
        break;
      }
    }
  }

  #onEnd({ reason, exit, words }: WorkerEnd): void {
    const ranMs = this.#state === 'running' ? this.#options.clock.monotonic() - this.#readyAt : 0;
    this.#worker = undefined;
    this.#announced = [];
    this.#begun = [];
    this.#feed.close();
    this.#past = {
      cpuMs: this.#past.cpuMs + this.#health.cpuMs,
      decodeErrors: this.#past.decodeErrors + this.#health.decodeErrors,
    };
    this.#health = { rssBytes: 0, cpuMs: 0, decodeErrors: 0 };
    if (this.#state === 'ended') return;
    this.#state = 'pausing';
    this.#restarts += 1;
    if (ranMs > STABLE_MS) this.#pauses.succeeded();
    const pauseMs = this.#pauses.failed();
    this.#options.logger.warn({ reason, exit, pauseMs, words }, 'transcoder lost its worker');
    this.#pause = setTimeout(() => this.#start(), pauseMs);
    this.#options.callbacks.onRestart({ reason, exit, pauseMs });
  }
}

function largestFirst(renditions: readonly RenditionPlan[]): readonly string[] {
  return renditions.toSorted((a, b) => b.width * b.height - a.width * a.height).map(({ id }) => id);
}
