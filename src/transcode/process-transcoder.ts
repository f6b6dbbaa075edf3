/**
 * The transcoder in a process of its own: feeds a worker, listens to it, and replaces it when it fails.
 */
import type { Profile } from '#domain/profile.ts';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { packetSamples } from '#media/codecs.ts';
import { USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import type { Packet } from '#media/packet.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { TranscodeSettings } from './config.ts';
import { Feed } from './feed.ts';
import { FramingError } from './framing.ts';
import { OverloadPolicy } from './overload-policy.ts';
import { type LadderPlan, planRenditions, type RenditionPlan } from './rendition-plan.ts';
import { SourceTrust } from './source-trust.ts';
import type { Transcoder, TranscoderCallbacks, TranscoderStats } from './transcoder.ts';
import { limitMemory, memoryOf } from './worker-memory.ts';
import type { FromWorker, SourceDescription, WorkerHealth } from './worker-messages.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';
import { PROTOCOL_VERSION } from './worker-protocol.ts';
import { WorkerResults } from './worker-results.ts';

/** How often the worker is looked at. */
const TICK_MS = 100;
const MIB = 1024 * 1024;
/** A worker that ran this long did not fail for what its predecessor failed for. */
const STABLE_MS = 30_000;
/** Time for the last packets at disposal. */
const FAREWELL_MS = 2000;
/** Sound is sent at once, without waiting for what was sent before; a worker that does not read loses it beyond this. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/**
 * What a worker may leave unread altogether. It is given a few packets at a time, but all that waits before a flush or another track:
 * a publisher that makes many of these could fill the memory.
 */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** When a worker counts as failed. The defaults suit a service; tests are less patient. */
export interface Patience {
  /** Time without a sign of life, which is due twice a second. */
  readonly hungAfterMs: number;
  /** The same for one that has not said `ready` yet: it loads a large library, perhaps from a cold disk. */
  readonly startWithinMs: number;
  /** How long a new worker may lag: it first works off the packets that waited for it, which are a second of media at least. */
  readonly graceMs: number;
  /** Pause before a worker is replaced, doubled at every failure in a row. */
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}

const PATIENCE: Patience = {
  hungAfterMs: 5000,
  startWithinMs: 20_000,
  graceMs: 5000,
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
  readonly #results: WorkerResults;
  #state: TranscoderStats['state'] = 'starting';
  #source: SourceDescription | undefined;
  /** The size of the newest video track. */
  #size: { readonly width: number; readonly height: number } | undefined;
  #declaredFrameRate: number | undefined;
  #audioSource: AudioTrack | undefined;
  #worker: WorkerProcess | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #silentTicks = 0;
  /** Whether the worker has said `ready`. */
  #hasAnswered = false;
  /** Whether the kernel bounds the worker's memory. */
  #isBounded = false;
  readonly #trust = new SourceTrust();
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
    this.#results = new WorkerResults(options.callbacks);
  }

  get stats(): TranscoderStats {
    return {
      state: this.#state,
      pid: this.#worker?.pid,
      restarts: this.#restarts,
      isSourceRefused: this.#trust.isLost,
      lagMs: this.#feed.lagMs(this.#options.clock.monotonic()),
      shed: this.#policy.shed,
      droppedPackets: this.#feed.dropped,
      decodeErrors: this.#past.decodeErrors + this.#health.decodeErrors,
      queuedBytes: this.#feed.waitingBytes + (this.#worker?.queuedBytes ?? 0),
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
    if (this.#size?.width !== width || this.#size.height !== height) this.#trust.resized();
    this.#size = { width, height };
    if (this.#trust.isLost) return plan;
    this.#source = { codec, config, width, height, framesPerSecond, renditions: plan.renditions };
    this.#policy.replaceOrder(largestFirst(plan.renditions));
    if (this.#isIdle) this.#start();
    else this.#sendSource();
    return plan;
  }

  setAudioTrack(track: AudioTrack): void {
    this.#audioSource = track;
    if (this.#isIdle) this.#start();
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
    if (worker !== undefined) {
      worker.end();
      const deadline = setTimeout(() => worker.kill('hung'), FAREWELL_MS);
      await worker.ended;
      clearTimeout(deadline);
    }
    const { restarts, droppedPackets, decodeErrors, cpuMs } = this.stats;
    this.#options.logger.info({ restarts, droppedPackets, decodeErrors, cpuMs: Math.round(cpuMs) }, 'transcoder ended');
  }

  /** Whether there is neither a worker nor one about to be started. */
  get #isIdle(): boolean {
    return this.#ticker === undefined || this.#state === 'refused';
  }

  #start(): void {
    this.#state = 'starting';
    this.#silentTicks = 0;
    this.#hasAnswered = false;
    this.#isBounded = false;
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
    const { audioEnd } = this.#results;
    const continued = audioEnd > 0 ? { continuesAt: audioEnd } : {};
    this.#worker?.send({ type: 'audio_source', source: { codec, config, sampleRate, channels, ...continued } });
  }

  #sendAudio({ pts, data }: Packet): void {
    if (this.#audioSource === undefined || this.#worker === undefined) return;
    if (this.#worker.queuedBytes > MAX_QUEUED_BYTES) return;
    this.#results.expectAudioUntil(pts + packetSamples(this.#audioSource, data));
    this.#worker.send({ type: 'audio', packet: { pts, data } });
  }

  #sendSource(): void {
    if (this.#source === undefined || this.#worker === undefined) return;
    this.#worker.send({ type: 'source', source: this.#source });
    this.#results.announce({ renditions: this.#source.renditions, declaredFrameRate: this.#declaredFrameRate });
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
      this.#results.sent(fed.packet);
      this.#worker?.send({ type: 'packet', ...fed });
    }
  }

  /** @throws {Error} when the worker says what it must not */
  #onMessage(message: FromWorker): void {
    this.#silentTicks = 0;
    switch (message.type) {
      case 'ready':
        this.#onReady(message.version);
        break;
      case 'begun':
        this.#results.begun();
        break;
      case 'done':
        if (!this.#feed.done(message.count)) throw new FramingError('It dealt with more packets than it was given.');
        this.#pump();
        break;
      case 'config':
        this.#results.config(message.rendition, message.config);
        break;
      case 'packet':
        this.#results.packet(message.packet);
        break;
      case 'audio_config':
        this.#results.audioConfig(message.config);
        break;
      case 'audio':
        this.#results.audio(message.packet);
        break;
      case 'thumbnail':
        this.#options.callbacks.onThumbnail(message.jpeg);
        break;
      case 'out_of_memory':
        this.#worker?.kill('too_much_memory');
        break;
      case 'health':
        this.#onHealth(message.health);
        break;
    }
  }

  #onReady(version: number): void {
    if (version !== PROTOCOL_VERSION) throw new FramingError(`It speaks version ${version}, not ${PROTOCOL_VERSION}.`);
    if (this.#hasAnswered) throw new FramingError('It said `ready` more than once.');
    this.#hasAnswered = true;
    if (this.#worker !== undefined) void this.#bound(this.#worker);
  }

  /** Asks the kernel to bound the worker's memory, where the system can do that, before the worker is given any video. */
  async #bound(worker: WorkerProcess): Promise<void> {
    const isBounded = worker.pid !== undefined && (await limitMemory(worker.pid, this.#memoryLimit));
    if (this.#worker !== worker || this.#state !== 'starting') return;
    this.#isBounded = isBounded;
    this.#state = 'running';
    this.#readyAt = this.#options.clock.monotonic();
    this.#feed.open();
    this.#pump();
  }

  get #memoryLimit(): number {
    return this.#options.settings.memoryMib * MIB;
  }

  #onHealth(health: WorkerHealth): void {
    const damaged = health.decodeErrors > this.#health.decodeErrors;
    this.#health = health;
    if (damaged) this.#options.callbacks.onWarning({ code: 'transcode_source_damaged' });
    this.#measure();
  }

  /** Ends a worker that takes too much memory. Its own report counts only where the system does not measure it. */
  #measure(): void {
    if (this.#worker?.pid === undefined) return;
    const rssBytes = memoryOf(this.#worker.pid)?.residentBytes ?? this.#health.rssBytes;
    this.#health = { ...this.#health, rssBytes };
    if (rssBytes > this.#memoryLimit) this.#worker.kill('too_much_memory');
  }

  #tick(): void {
    // Counted in turns of this loop, not read from a clock: a server that was held up itself must not blame its worker.
    this.#silentTicks += 1;
    const { hungAfterMs, startWithinMs } = this.#patience;
    const patienceMs = this.#state === 'running' ? hungAfterMs : startWithinMs;
    const isHung = this.#silentTicks * TICK_MS > patienceMs || (this.#worker?.queuedBytes ?? 0) > MAX_UNREAD_BYTES;
    if (isHung) this.#worker?.kill('hung');
    if (!this.#isBounded) this.#measure();
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
    this.#results.lost();
    this.#feed.close();
    this.#past = {
      cpuMs: this.#past.cpuMs + this.#health.cpuMs,
      decodeErrors: this.#past.decodeErrors + this.#health.decodeErrors,
    };
    this.#health = { rssBytes: 0, cpuMs: 0, decodeErrors: 0 };
    if (this.#state === 'ended') return;
    this.#restarts += 1;
    if (this.#source !== undefined) this.#trust.lost({ reason, exit, ranMs });
    if (ranMs > STABLE_MS) this.#pauses.succeeded();
    const pauseMs = this.#pauses.failed();
    this.#options.logger.warn({ reason, exit, pauseMs, words }, 'transcoder lost its worker');
    if (this.#trust.isLost && this.#source !== undefined) this.#refuseSource();
    if (this.#source !== undefined || this.#audioSource !== undefined) {
      this.#state = 'pausing';
      this.#pause = setTimeout(() => this.#start(), pauseMs);
    } else this.#state = 'refused';
    this.#options.callbacks.onRestart({ reason, exit, pauseMs });
  }

  /** Stops transcoding the video, and goes on with the audio. */
  #refuseSource(): void {
    const code = 'transcode_source_refused';
    this.#source = undefined;
    this.#feed.reset();
    this.#options.callbacks.onWarning({ code });
    this.#options.logger.warn({ code }, 'video no longer transcoded: it has ended two workers');
  }
}

function largestFirst(renditions: readonly RenditionPlan[]): readonly string[] {
  return renditions.toSorted((a, b) => b.width * b.height - a.width * a.height).map(({ id }) => id);
}
