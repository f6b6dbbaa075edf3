/**
 * The transcoder in a process of its own: sends packets to a worker, receives its results, and replaces it when it fails.
 */
import { AUDIO_RENDITION, type Profile } from '#domain/profile.ts';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { everyTick } from '#lib/late-ticks.ts';
import { MIB } from '#lib/units.ts';
import { packetSamples } from '#media/codecs.ts';
import { USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import type { Packet } from '#media/packet.ts';
import { PICTURE_KINDS } from '#media/picture.ts';
import type { HeldEvent, PacketEvent, RenditionId } from '#media/session-event.ts';
import { type AudioTrack, VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { TranscodeSettings } from './config.ts';
import { Feed } from './feed.ts';
import type { WorkerStarter } from './fork-server.ts';
import { FramingError } from './framing.ts';
import { OverloadPolicy } from './overload-policy.ts';
import { type LadderPlan, NO_PLAN, planRenditions, type RenditionPlan } from './rendition-plan.ts';
import { areaOf } from './size.ts';
import type { SourceTrust } from './source-trust.ts';
import type { Transcoder, TranscoderCallbacks, TranscoderStats } from './transcoder.ts';
import { memoryOf } from './worker-memory.ts';
import type { FromWorker, SourceDescription, WorkerHealth } from './worker-messages.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';
import { PROTOCOL_VERSION } from './worker-protocol.ts';
import { WorkerResults } from './worker-results.ts';

/** The time between two checks of the worker. */
const TICK_MS = 100;
/** After a worker has run this long, its failure has no connection with that of the previous one. */
const STABLE_MS = 30_000;
/**
 * The limit on queued audio. Audio is sent at once, without waiting for earlier packets to be processed, and a worker that does not read
 * loses what exceeds this, which is reported.
 */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/**
 * The largest number of bytes that a worker may leave unread. It gets a few packets at a time, but before a flush or another track it gets
 * everything that waits, and a publisher that causes many of these could fill the memory.
 */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** When a worker counts as failed, and when it is replaced. The defaults are for production. */
export interface WorkerTimeouts {
  /** The time without a sign of life, which is due twice a second. */
  readonly hungAfterMs: number;
  /**
   * The time that a worker may take until it runs, because it loads a large library, perhaps from a cold disk. The same limit applies to each
   * preparation that it announces.
   */
  readonly startWithinMs: number;
  /**
   * How long a worker may lag after its start and after a preparation, because it first processes the packets that waited for it, which are
   * at least a second of media after a start.
   */
  readonly graceMs: number;
  /** The pause before a worker is replaced. It doubles at every consecutive failure. */
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** How long a worker may take to hand out its last packets when the transcoder is disposed. */
  readonly drainWithinMs: number;
}

const TIMEOUTS: WorkerTimeouts = {
  hungAfterMs: 5000,
  startWithinMs: 20_000,
  graceMs: 5000,
  firstPauseMs: 100,
  maxPauseMs: 10_000,
  drainWithinMs: 2000,
};

/** The options of a session's transcoder. */
export interface ProcessTranscoderOptions {
  readonly profiles: readonly Profile[];
  readonly settings: Pick<TranscodeSettings, 'preset' | 'threads' | 'memoryMib'>;
  readonly callbacks: TranscoderCallbacks;
  /** Counts the workers that the video of the session has ended so far. */
  readonly trust: SourceTrust;
  /** Starts the workers. */
  readonly forkServer: WorkerStarter;
  readonly clock: Clock;
  /** A logger with the session's ids. */
  readonly logger: Logger;
  readonly timeouts?: Partial<WorkerTimeouts>;
}

/** The state of the worker. */
type State =
  | { readonly type: 'idle' } // not started, because there is nothing to transcode
  | { readonly type: 'starting'; readonly worker: WorkerProcess; readonly hasAnswered: boolean }
  | {
      readonly type: 'running';
      readonly worker: WorkerProcess;
      readonly sinceMs: number;
      /** Whether the kernel limits the worker's memory. */
      readonly isMemoryBounded: boolean;
    }
  | { readonly type: 'pausing'; readonly timer: NodeJS.Timeout } // until another worker is started
  | { readonly type: 'ended'; readonly worker: WorkerProcess | undefined };

const NO_HEALTH: WorkerHealth = { rssBytes: 0, cpuMs: 0, decodeErrors: 0, encodeErrors: 0, blackS: 0, frozenS: 0 };

/** A {@link Transcoder}. The worker is started with the first track. */
export class ProcessTranscoder implements Transcoder {
  readonly #options: ProcessTranscoderOptions;
  readonly #timeouts: WorkerTimeouts;
  readonly #pauses: Backoff;
  readonly #feed = new Feed();
  readonly #policy = new OverloadPolicy([]);
  readonly #trust: SourceTrust;
  readonly #results: WorkerResults;
  #state: State = { type: 'idle' };
  /** The video to be transcoded, and the frame rate that its bitstream declares. */
  #source: { readonly description: SourceDescription; readonly declaredFrameRate: number | undefined } | undefined;
  #audioSource: AudioTrack | undefined;
  #ticker: NodeJS.Timeout | undefined;
  /** The monotonic time before which the lag says nothing about the worker. */
  #judgedFromMs = Number.NEGATIVE_INFINITY;
  /** The number of ticks since the worker's last sign of life, or since its start until it runs. */
  #silentTicks = 0;
  /** Whether the latest message of the worker announced a preparation. */
  #isPreparing = false;
  /** The restored renditions that are not made yet, each with the newest segment that it cannot have. */
  readonly #restored = new Map<RenditionId, number>();
  /** The renditions of the present source whose encoders failed. */
  readonly #failed = new Set<RenditionId>();
  /** Whether audio was dropped since that was last reported. */
  #hasDroppedAudio = false;
  /** The number of dropped packets that was last reported. */
  #reportedDrops = 0;
  #restarts = 0;
  #health = NO_HEALTH;
  /** The totals of workers that are gone. */
  #past = { cpuMs: 0, decodeErrors: 0, encodeErrors: 0 };
  #disposal: Promise<void> | undefined;

  constructor(options: ProcessTranscoderOptions) {
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
    this.#pauses = new Backoff({ firstMs: this.#timeouts.firstPauseMs, maxMs: this.#timeouts.maxPauseMs });
    const { callbacks, trust } = options;
    this.#trust = trust;
    this.#results = new WorkerResults({
      onTrack: (id, track) => callbacks.onTrack(id, track),
      onPacket: (id, packet) => {
        if (packet.mark !== undefined) this.#reached(packet.mark.ordinal);
        callbacks.onPacket(id, packet);
      },
      onAudioTrack: (track) => callbacks.onAudioTrack(track),
      onAudioPacket: (packet) => callbacks.onAudioPacket(packet),
    });
  }

  get stats(): TranscoderStats {
    const worker = this.#worker;
    return {
      state: this.#stateName,
      pid: worker?.pid,
      restarts: this.#restarts,
      lagMs: this.#feed.lagMs(this.#options.clock.monotonic()),
      shed: this.#notMade,
      droppedPackets: this.#feed.dropped,
      decodeErrors: this.#past.decodeErrors + this.#health.decodeErrors,
      encodeErrors: this.#past.encodeErrors + this.#health.encodeErrors,
      queuedBytes: this.#feed.waitingBytes + (worker?.queuedBytes ?? 0),
      rssBytes: this.#health.rssBytes,
      cpuMs: this.#past.cpuMs + this.#health.cpuMs,
      picture: { blackS: this.#health.blackS, frozenS: this.#health.frozenS },
    };
  }

  setTrack(track: VideoTrack): LadderPlan {
    this.#pump({ all: true });
    this.#feed.reset();
    if (!this.#trust.accepts(track)) return NO_PLAN;
    const plan = planRenditions(this.#options.profiles, track);
    const { codec, config, width, height, declaredFrameRate } = track;
    const framesPerSecond = declaredFrameRate ?? USUAL_FRAME_RATE;
    const description = { codec, config, width, height, framesPerSecond, renditions: plan.renditions };
    this.#source = { description, declaredFrameRate };
    this.#policy.replaceOrder(largestFirst(plan.renditions));
    this.#restored.clear();
    this.#failed.clear();
    if (this.#state.type === 'idle') this.#start();
    else this.#sendSource();
    return plan;
  }

  setAudioTrack(track: AudioTrack): void {
    this.#audioSource = track;
    if (this.#state.type === 'idle') this.#start();
    else this.#sendAudioSource();
  }

  write(event: PacketEvent | HeldEvent): void {
    if (this.#state.type === 'ended') return;
    if (event.type === 'packet' && event.packet.kind === 'audio') {
      this.#sendAudio(event.packet);
      return;
    }
    if (this.#source === undefined) return;
    this.#feed.offer(event, this.#options.clock.monotonic());
    this.#pump();
  }

  flush(): void {
    if (this.#state.type !== 'running') return;
    this.#pump({ all: true });
    this.#state.worker.send({ type: 'flush' });
    this.#feed.sent(this.#options.clock.monotonic());
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    this.#pump({ all: true });
    if (this.#state.type === 'pausing') clearTimeout(this.#state.timer);
    clearInterval(this.#ticker);
    const worker = this.#worker;
    this.#state = { type: 'ended', worker };
    if (worker !== undefined) {
      worker.end();
      // A deadline that fires late is postponed once, because messages that the worker sent in the meantime have not been read yet.
      const deadline = everyTick(this.#timeouts.drainWithinMs, this.#options.clock, (lateMs) => {
        if (lateMs === 0) worker.kill('hung');
      });
      await worker.ended;
      clearInterval(deadline);
    }
    const { restarts, droppedPackets, decodeErrors, encodeErrors, cpuMs } = this.stats;
    const totals = { restarts, droppedPackets, decodeErrors, encodeErrors, cpuMs: Math.round(cpuMs) };
    this.#options.logger.info(totals, 'transcoder ended');
  }

  get #worker(): WorkerProcess | undefined {
    return 'worker' in this.#state ? this.#state.worker : undefined;
  }

  get #stateName(): TranscoderStats['state'] {
    if (this.#state.type !== 'idle') return this.#state.type;
    return this.#trust.isRefused ? 'refused' : 'starting';
  }

  #start(): void {
    this.#silentTicks = 0;
    this.#isPreparing = false;
    const { preset, threads } = this.#options.settings;
    this.#ticker ??= everyTick(TICK_MS, this.#options.clock, (lateMs) => this.#tick(lateMs));
    const job = { version: PROTOCOL_VERSION, preset, threads, pictures: PICTURE_KINDS };
    const worker = new WorkerProcess(this.#options.forkServer, job, {
      onMessage: (message) => this.#onMessage(message),
      onEnd: (end) => this.#onEnd(end),
    });
    this.#state = { type: 'starting', worker, hasAnswered: false };
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
    const worker = this.#worker;
    if (this.#audioSource === undefined || worker === undefined) return;
    if (worker.queuedBytes > MAX_QUEUED_BYTES) {
      this.#hasDroppedAudio = true;
      return;
    }
    this.#results.expectAudioUntil(pts + packetSamples(this.#audioSource, data));
    worker.send({ type: 'audio', packet: { pts, data } });
  }

  /** Tells the worker the source, once it runs: a worker that is lost before that cannot have failed because of the source. */
  #sendSource(): void {
    if (this.#source === undefined || this.#state.type !== 'running') return;
    const { worker } = this.#state;
    const { description, declaredFrameRate } = this.#source;
    worker.send({ type: 'source', source: description });
    this.#results.announce({ renditions: description.renditions, declaredFrameRate });
    if (this.#policy.shed.length + this.#failed.size > 0) this.#sendActive();
  }

  #sendActive(): void {
    const { shed } = this.#policy;
    const isMade = (id: RenditionId) => !shed.includes(id) && !this.#failed.has(id);
    const renditions = this.#plans.flatMap(({ id }, index) => (isMade(id) ? [index] : []));
    this.#worker?.send({ type: 'active', renditions });
  }

  /** The planned renditions, including shed and failed ones. */
  get #plans(): readonly RenditionPlan[] {
    return this.#source?.description.renditions ?? [];
  }

  /** Sends the worker the events that it may have. */
  #pump(options: { all?: boolean } = {}): void {
    for (;;) {
      const fed = this.#feed.next(options);
      if (fed === undefined) return;
      const { event, afterGap } = fed;
      this.#results.sent(event);
      this.#worker?.send(event.type === 'held' ? event : { type: 'packet', packet: event.packet, afterGap });
    }
  }

  /** Handles a message. @throws {Error} when the worker must not send it */
  #onMessage(message: FromWorker): void {
    // A worker that is starting has a limited time until it runs, whatever it sends.
    if (this.#state.type === 'running') this.#silentTicks = 0;
    if (this.#isPreparing) this.#judgedFromMs = this.#options.clock.monotonic() + this.#timeouts.graceMs;
    this.#isPreparing = message.type === 'preparing';
    switch (message.type) {
      case 'ready':
        this.#onReady(message.version);
        break;
      case 'begun':
        this.#results.begun();
        break;
      case 'done':
        if (!this.#feed.done(message.count))
          throw new FramingError('The worker processed more packets than it was given.');
        this.#pump();
        break;
      case 'config':
        this.#results.config(message.rendition, message.config);
        break;
      case 'packet':
        this.#results.packet(message.packet);
        break;
      case 'missing':
        this.#reportMissing();
        break;
      case 'audio_missing':
        this.#options.callbacks.onMissing(AUDIO_RENDITION, 'lost');
        break;
      case 'failed':
        this.#onFailed(message.rendition);
        break;
      case 'preparing':
        break;
      case 'audio_config':
        this.#results.audioConfig(message.config);
        break;
      case 'audio':
        this.#results.audio(message.packet);
        break;
      case 'picture': {
        const { kind, pts, jpeg } = message;
        this.#options.callbacks.onPicture({ kind, atS: pts / VIDEO_TIMESCALE, jpeg });
        break;
      }
      case 'out_of_memory':
        this.#worker?.kill('too_much_memory');
        break;
      case 'health':
        this.#onHealth(message.health);
        break;
    }
  }

  #onReady(version: number): void {
    if (version !== PROTOCOL_VERSION)
      throw new FramingError(`The worker uses version ${version}, not ${PROTOCOL_VERSION}.`);
    if (this.#state.type !== 'starting' || this.#state.hasAnswered) {
      throw new FramingError('The worker sent `ready` more than once.');
    }
    this.#state = { ...this.#state, hasAnswered: true };
    void this.#limitMemoryOf(this.#state.worker);
  }

  /** Makes the kernel limit the worker's memory, if the system can do that, before the worker gets any video. */
  async #limitMemoryOf(worker: WorkerProcess): Promise<void> {
    const isMemoryBounded = await worker.limitMemory(this.#memoryLimit);
    if (this.#state.type !== 'starting' || this.#state.worker !== worker) return;
    this.#silentTicks = 0;
    this.#reportedDrops = this.#feed.dropped; // what was dropped without a worker is part of the gap before its first packet
    this.#state = { type: 'running', worker, sinceMs: this.#options.clock.monotonic(), isMemoryBounded };
    this.#sendSource();
    this.#feed.open();
    this.#pump();
  }

  get #memoryLimit(): number {
    return this.#options.settings.memoryMib * MIB;
  }

  #onHealth(health: WorkerHealth): void {
    const { decodeErrors, encodeErrors } = this.#health;
    const { callbacks, logger } = this.#options;
    this.#health = health;
    if (health.decodeErrors > decodeErrors) callbacks.onWarning({ code: 'transcode_source_damaged' });
    if (encodeErrors === 0 && health.encodeErrors > 0) {
      logger.warn({ encodeErrors: health.encodeErrors }, 'audio left out, because its encoder refused it');
    }
    this.#measureMemory();
  }

  /** Ends a worker that uses too much memory. What it reports itself is used only where the system cannot measure it. */
  #measureMemory(): void {
    const worker = this.#worker;
    if (worker?.pid === undefined) return;
    const rssBytes = memoryOf(worker.pid)?.residentBytes ?? this.#health.rssBytes;
    this.#health = { ...this.#health, rssBytes };
    if (rssBytes > this.#memoryLimit) worker.kill('too_much_memory');
  }

  #tick(lateMs: number): void {
    const nowMs = this.#options.clock.monotonic();
    // While this process was held up, no results of the worker were read. Afterwards the worker gets the media of that time all at once.
    if (lateMs > 0) this.#judgedFromMs = Math.max(this.#judgedFromMs, nowMs + lateMs);
    // The time is counted in ticks of this loop and not read from a clock, so that a server that was itself delayed does not blame its
    // worker.
    this.#silentTicks += 1;
    const { hungAfterMs, startWithinMs } = this.#timeouts;
    const state = this.#state;
    const isAtWork = state.type === 'running' && !this.#isPreparing;
    const timeoutMs = isAtWork ? hungAfterMs : startWithinMs;
    const isHung = this.#silentTicks * TICK_MS > timeoutMs || (this.#worker?.queuedBytes ?? 0) > MAX_UNREAD_BYTES;
    if (isHung) this.#worker?.kill('hung');
    if (state.type !== 'running' || !state.isMemoryBounded) this.#measureMemory();
    if (this.#hasDroppedAudio) this.#options.callbacks.onMissing(AUDIO_RENDITION, 'lost');
    this.#hasDroppedAudio = false;
    if (state.type !== 'running') return;
    if (this.#feed.dropped > this.#reportedDrops) this.#reportMissing();
    const judgedFromMs = Math.max(this.#judgedFromMs, state.sinceMs + this.#timeouts.graceMs);
    if (isAtWork && nowMs >= judgedFromMs) this.#relieve(nowMs);
    this.#reportedDrops = this.#feed.dropped; // also what was just dropped, which was reported at once
  }

  /** Sheds renditions that the worker cannot make in time, and restores them. */
  #relieve(nowMs: number): void {
    const lagMs = this.#feed.lagMs(nowMs);
    const action = this.#policy.judge(lagMs, nowMs);
    if (action === undefined) return;
    const { callbacks, logger } = this.#options;
    switch (action.type) {
      case 'skip':
        this.#feed.skip();
        this.#reportMissing();
        callbacks.onWarning({ code: 'transcode_frames_dropped' });
        logger.warn({ lagMs }, 'transcoder skips to a keyframe');
        break;
      case 'shed': {
        const { renditionId } = action;
        const code = 'transcode_rendition_shed';
        this.#sendActive();
        this.#restored.delete(renditionId);
        callbacks.onMissing(renditionId, 'shed');
        callbacks.onWarning({ code, renditionId });
        logger.warn({ code, renditionId, lagMs }, 'rendition shed');
        break;
      }
      case 'restore': {
        const { renditionId } = action;
        this.#restore(renditionId);
        logger.warn({ code: 'transcode_rendition_restored', renditionId, lagMs }, 'rendition restored');
        break;
      }
    }
  }

  /** Asks the worker for a rendition that is not shed any more. The rendition begins with a segment of which no packet was sent yet. */
  #restore(renditionId: RenditionId): void {
    this.#sendActive();
    this.#restored.set(renditionId, this.#results.sentOrdinal);
  }

  /** The renditions that are shed, or restored but not made yet. */
  get #notMade(): readonly RenditionId[] {
    return [...this.#policy.shed, ...this.#restored.keys()];
  }

  /** Notes that the worker has begun a segment, with which restored renditions begin, whichever rendition comes first. */
  #reached(ordinal: number): void {
    for (const [renditionId, before] of this.#restored) {
      if (ordinal <= before) continue;
      this.#restored.delete(renditionId);
      this.#options.callbacks.onWarning({ code: 'transcode_rendition_restored', renditionId });
    }
  }

  /** Leaves out a rendition whose encoder failed. The next worker is not asked for it, either. */
  #onFailed(rendition: number): void {
    const renditionId = this.#results.failed(rendition);
    if (renditionId === undefined || this.#failed.has(renditionId)) return;
    this.#failed.add(renditionId);
    this.#restored.delete(renditionId);
    // The last rendition is never shed. If it fails, the next one takes its place.
    const restoredId = this.#policy.leaveOut(renditionId);
    if (restoredId !== undefined) this.#restore(restoredId);
    const code = 'transcode_rendition_failed';
    this.#options.callbacks.onMissing(renditionId, 'lost'); // and those of a rendition for which it stands in
    this.#options.callbacks.onWarning({ code, renditionId });
    this.#options.logger.warn({ code, renditionId }, 'rendition left out, because its encoder failed');
  }

  /** Reports that packets of every rendition are lost, except for renditions of which this is already known. */
  #reportMissing(): void {
    const notMade = [...this.#notMade, ...this.#failed];
    for (const { id } of this.#plans) if (!notMade.includes(id)) this.#options.callbacks.onMissing(id, 'lost');
  }

  #onEnd({ reason, exit, detail }: WorkerEnd): void {
    const hadSource = this.#state.type === 'running' && this.#source !== undefined;
    const ranMs = this.#state.type === 'running' ? this.#options.clock.monotonic() - this.#state.sinceMs : 0;
    this.#results.lost();
    this.#feed.close();
    this.#reportedDrops = this.#feed.dropped;
    const { cpuMs, decodeErrors, encodeErrors } = this.stats;
    this.#past = { cpuMs, decodeErrors, encodeErrors };
    this.#health = NO_HEALTH;
    if (this.#state.type === 'ended') {
      this.#state = { type: 'ended', worker: undefined };
      return;
    }
    this.#restarts += 1;
    if (hadSource) this.#trust.workerLost({ reason, exit, ranMs });
    if (ranMs > STABLE_MS) this.#pauses.succeeded();
    const pauseMs = this.#pauses.failed();
    this.#options.logger.warn({ reason, exit, pauseMs, detail }, 'transcoder lost its worker');
    this.#reportMissing();
    if (this.#audioSource !== undefined) this.#options.callbacks.onMissing(AUDIO_RENDITION, 'lost');
    const isRefused = this.#trust.isRefused && this.#source !== undefined;
    if (isRefused) this.#forgetSource();
    const isNeeded = this.#source !== undefined || this.#audioSource !== undefined;
    this.#state = isNeeded ? { type: 'pausing', timer: setTimeout(() => this.#start(), pauseMs) } : { type: 'idle' };
    this.#options.callbacks.onRestart({ reason, exit, pauseMs });
    // Last, because the session may dispose the transcoder now.
    if (isRefused) this.#options.callbacks.onWarning({ code: 'transcode_source_refused' });
  }

  /** Stops transcoding the video, and continues with the audio. */
  #forgetSource(): void {
    this.#source = undefined;
    this.#feed.reset();
    this.#policy.replaceOrder([]);
    this.#restored.clear();
    this.#failed.clear();
    this.#options.logger.warn(
      { code: 'transcode_source_refused' },
      'video is no longer transcoded, because two workers failed with it',
    );
  }
}

function largestFirst(renditions: readonly RenditionPlan[]): readonly string[] {
  return renditions.toSorted((a, b) => areaOf(b) - areaOf(a)).map(({ id }) => id);
}
