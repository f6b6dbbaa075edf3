/**
 * The recorder of one session: decides what is kept of the parts that viewers get, and where it goes. It never waits: the writer thread
 * does what it says, and what that has done is in the index, which readers see.
 */
import { AUDIO_RENDITION, SOURCE_RENDITION } from '#domain/profile.ts';
import type { Packaged } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';
import { within } from '#lib/within.ts';
import type { Picture } from '#media/picture.ts';
import type { RenditionId } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import { extentOf } from './extent.ts';
import { encodeRecord, type InitRecord, type SegmentRecord, type TrackDescription } from './index-file.ts';
import { recordBox, volumeHead } from './record-box.ts';
import type { Recorder, RecordingExtent, RecordingRequest } from './recording.ts';
import { type KeptRecord, RecordingIndex } from './recording-index.ts';
import { SegmentNumbers } from './segment-numbers.ts';
import type { StepResult, WriterStep } from './writer/protocol.ts';
import type { WriterThread } from './writer/writer-thread.ts';

/** The options of a recorder. */
export interface RecorderOptions {
  readonly request: RecordingRequest;
  readonly writer: WriterThread;
  readonly volumeS: number;
  readonly maxS: number;
  /** How long a recording that ends or pauses waits for the disk. */
  readonly durableWithinMs: number;
  readonly renditions: 'all' | 'source';
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the number of periods that a continued recording had. */
  readonly onContinued: (periods: number) => void;
  /** Called with periods whose index files and volumes will never change. */
  readonly onClosed: (periods: readonly number[]) => void;
  /** Called when the recording has ended. */
  readonly onEnded: () => void;
  /** Called when nothing more will be written. */
  readonly onDone: () => void;
}

/** The largest volume, except that it ends with a whole segment. */
const MAX_VOLUME_BYTES = 64 * 1024 * 1024;
/** How long a recording that the disk did not take waits before it tries again. A segment is waited for in addition. */
const RETRY_MS = 5000;
/** The most init segments of a rendition that are remembered. One is in use, and one is coming. */
const MAX_INITS = 4;

type Init = Extract<Packaged, { type: 'init' }>;
type Head = Extract<Packaged, { type: 'segment_start' }>;
type Part = Extract<Packaged, { type: 'part' }>;

/** What becomes of the segment that a rendition is in. */
type Segment =
  /** It is not known yet whether it is kept. Its parts so far wait. */
  | { readonly type: 'undecided'; readonly head: Head; readonly parts: Part[] }
  | { readonly type: 'kept'; readonly head: Head }
  | { readonly type: 'left_out' };

interface Rendition {
  readonly id: RenditionId;
  /** Its number in the index. Undefined while nothing of it is kept. */
  number: number | undefined;
  readonly inits: Map<string, Init>;
  segment: Segment;
  /** The newest init segment in the index, and its name. */
  init: { readonly name: string; readonly record: InitRecord } | undefined;
  /** The volume that it writes to. */
  volume: { readonly period: number; readonly init: string; sizeBytes: number } | undefined;
}

interface Opening {
  readonly type: 'opening';
  readonly backlog: (readonly [RenditionId, Packaged])[];
  backlogBytes: number;
}

/**
 * - `opening`: the writer looks for files of an earlier process. What is packaged meanwhile waits.
 * - `stopped`: the disk took nothing more; it is tried again.
 * - `closed`: nothing more is written.
 */
type Phase =
  | Opening
  | { readonly type: 'writing' }
  | { readonly type: 'stopped'; readonly retryAt: number }
  | { readonly type: 'closed' };

const LEFT_OUT: Segment = { type: 'left_out' };

/** Keeps one session. */
export class SessionRecorder implements Recorder {
  readonly request: RecordingRequest;
  readonly #options: RecorderOptions;
  readonly #logger: Logger;
  readonly #renditions = new Map<RenditionId, Rendition>();
  /** The newest init segments, also of renditions that have no segment yet. */
  readonly #inits = new Map<RenditionId, Map<string, Init>>();
  #index = new RecordingIndex();
  #numbers = new SegmentNumbers();
  #phase: Phase;
  /** The first picture of each kind, while there is no file for it. */
  readonly #earlyPictures = new Map<Picture['kind'], Picture>();
  #period = -1;
  #periodStartS = Number.NEGATIVE_INFINITY;
  /** The renditions that the index has, or will have once the writer has done what it was told. */
  #renditionCount = 0;
  #isBehind = false;
  #hasStopped = false;
  /** Resolves once the writer has opened the recording, or could not. */
  #opened: Promise<void> = Promise.resolve();
  #ended: Promise<RecordingExtent> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.request = options.request;
    this.#logger = options.logger.child({ sessionId: options.request.sessionId });
    this.#phase = this.#open();
  }

  /** Resolves once the files of an earlier process are read, or could not be. Until then the index is empty. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  /** What was written by now. It is another object after the disk had failed. */
  get index(): RecordingIndex {
    return this.#index;
  }

  get extent(): RecordingExtent {
    return extentOf(this.#index);
  }

  write(renditionId: RenditionId, packaged: Packaged): void {
    if (this.#options.renditions === 'source' && !isOfSource(renditionId)) return;
    if (packaged.type === 'init') this.#noteInit(renditionId, packaged);
    if (this.#phase.type === 'opening') this.#keepForLater(this.#phase, renditionId, packaged);
    else if (this.#phase.type !== 'closed') this.#take(renditionId, packaged);
  }

  picture(picture: Picture): void {
    if (this.#phase.type === 'closed' || this.#phase.type === 'stopped') return;
    if (this.#phase.type === 'writing' && this.#period >= 0) this.#writePicture(picture);
    // The first pictures come before the first segment is known to be kept.
    else if (!this.#earlyPictures.has(picture.kind)) this.#earlyPictures.set(picture.kind, picture);
  }

  #writePicture({ kind, atS, jpeg }: Picture): void {
    if (!this.#options.writer.hasRoomFor(jpeg.length)) return;
    const atMs = Math.max(0, Math.round(atS * 1000));
    this.#post({ type: 'picture', period: this.#period, kind, atMs, bytes: own(jpeg) }, (result) =>
      result?.type === 'picture' ? { type: 'picture', ...result.picture } : undefined,
    );
  }

  end(): Promise<RecordingExtent> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async pause(): Promise<void> {
    await within(this.#options.durableWithinMs, this.#opened);
    if (this.#phase.type === 'closed') return;
    this.#phase = { type: 'closed' };
    await this.#finish('pause');
  }

  async #end(): Promise<RecordingExtent> {
    if (this.#phase.type === 'stopped') this.#phase = this.#open();
    const isOpen = await within(this.#options.durableWithinMs, this.#opened);
    if (!isOpen || this.#isStopped) {
      this.#phase = { type: 'closed' };
      this.#options.onDone();
      throw new Error('The disk does not take the end of the recording.');
    }
    if (!this.#index.hasEnded) {
      for (const rendition of this.#renditions.values()) this.#endRendition(rendition);
      this.#phase = { type: 'closed' };
      await this.#finish('end');
      this.#index.apply({ type: 'end' });
    }
    this.#options.onDone();
    return this.extent;
  }

  get #isStopped(): boolean {
    return this.#phase.type === 'stopped';
  }

  /** Has the writer open the recording, and goes on where its files end. */
  #open(): Opening {
    const { sessionId, epoch, targetDurationS } = this.request;
    const phase: Opening = { type: 'opening', backlog: [], backlogBytes: 0 };
    this.#opened = new Promise((resolve) => {
      this.#post({ type: 'open', manifest: { version: 1, sessionId, epoch, targetDurationS } }, (result) => {
        this.#options.writer.reserve(-phase.backlogBytes);
        if (this.#phase === phase) this.#onOpened(result, phase.backlog);
        resolve();
        return undefined;
      });
    });
    return phase;
  }

  #onOpened(result: StepResult, backlog: readonly (readonly [RenditionId, Packaged])[]): void {
    if (result?.type !== 'opened') {
      this.#stop(result?.type === 'failed' ? result.reason : 'no answer');
      return;
    }
    this.#index = new RecordingIndex(result.index);
    this.#numbers = new SegmentNumbers(this.#index.lastNumber + 1);
    this.#period = result.nextPeriod - 1;
    if (result.nextPeriod > 0) this.#options.onContinued(result.nextPeriod);
    this.#periodStartS = Number.NEGATIVE_INFINITY;
    this.#renditions.clear();
    for (const [number, { id }] of this.#index.renditions.entries()) this.#addRendition(id).number = number;
    this.#renditionCount = this.#index.renditions.length;
    if (this.#hasStopped) this.request.warn('recording_stopped', false);
    this.#hasStopped = false;
    if (this.#index.hasEnded) {
      this.#phase = { type: 'closed' };
      return;
    }
    this.#phase = { type: 'writing' };
    for (const [id, packaged] of backlog) this.#take(id, packaged);
  }

  #keepForLater(phase: Opening, id: RenditionId, packaged: Packaged): void {
    const sizeBytes = packaged.type === 'part' ? packaged.bytes.length : 0;
    if (!this.#options.writer.hasRoomFor(sizeBytes)) {
      this.#noteBehind();
      this.#options.writer.reserve(-phase.backlogBytes);
      phase.backlogBytes = 0;
      phase.backlog.length = 0;
    }
    // Without a beginning the parts of a segment mean nothing, and are left out later.
    this.#options.writer.reserve(sizeBytes);
    phase.backlogBytes += sizeBytes;
    phase.backlog.push([id, packaged]);
  }

  #noteInit(id: RenditionId, init: Init): void {
    const inits = this.#inits.get(id) ?? new Map<string, Init>();
    this.#inits.set(id, inits.set(init.name, init));
    for (const name of inits.keys()) if (inits.size > MAX_INITS) inits.delete(name);
  }

  #take(id: RenditionId, packaged: Packaged): void {
    const rendition = this.#renditions.get(id);
    switch (packaged.type) {
      case 'segment_start':
        this.#startSegment(rendition ?? this.#addRendition(id), packaged);
        break;
      case 'part':
        if (rendition !== undefined) this.#takePart(rendition, packaged);
        break;
      case 'segment':
        if (rendition !== undefined) this.#endSegment(rendition, packaged);
        break;
      case 'end':
        if (rendition !== undefined) this.#endRendition(rendition);
        break;
      default:
    }
  }

  #addRendition(id: RenditionId): Rendition {
    const inits = this.#inits.get(id) ?? new Map();
    this.#inits.set(id, inits);
    const rendition = { id, number: undefined, inits, segment: LEFT_OUT, init: undefined, volume: undefined };
    this.#renditions.set(id, rendition);
    return rendition;
  }

  #startSegment(rendition: Rendition, head: Head): void {
    if (this.#phase.type !== 'stopped') {
      rendition.segment = { type: 'undecided', head, parts: [] };
    } else if (this.#mayTryAgain(this.#phase.retryAt)) {
      this.#phase = this.#open();
      this.#phase.backlog.push([rendition.id, head]);
    }
  }

  #mayTryAgain(at: number): boolean {
    return this.#options.clock.monotonic() >= at && this.#options.writer.isRelaxed;
  }

  #takePart(rendition: Rendition, part: Part): void {
    const { segment } = rendition;
    if (segment.type === 'kept') this.#writePart(rendition, segment.head, part);
    if (segment.type !== 'undecided') return;
    segment.parts.push(part);
    if (part.isFilling && this.#numbers.of(segment.head.msn) === undefined) return;
    this.#decide(rendition, segment);
  }

  /** Keeps a segment if that is possible now, and leaves it undecided if it may be later. */
  #decide(rendition: Rendition, segment: Extract<Segment, { type: 'undecided' }>): void {
    if (this.#phase.type !== 'writing') return;
    const { head, parts } = segment;
    if (this.#numbers.isSuspended && !this.#mayResume(rendition, head)) return;
    const numbered = this.#numbers.isSuspended
      ? this.#numbers.resume(head.msn)
      : this.#numbers.keep(head.msn, head.discontinuity);
    const init = rendition.inits.get(head.init);
    if (numbered === undefined || init === undefined) {
      rendition.segment = LEFT_OUT;
      return;
    }
    this.#isBehind = false;
    rendition.segment = { type: 'kept', head };
    this.#beginSegment(rendition, init, head, numbered);
    for (const part of parts) {
      if (rendition.segment.type === 'kept') this.#writePart(rendition, head, part);
    }
  }

  /** Whether the recording goes on with a segment: one of the leading rendition that can be decoded, once there is room. */
  #mayResume({ id }: Rendition, { independent }: Head): boolean {
    const leader = this.#renditions.has(SOURCE_RENDITION) ? SOURCE_RENDITION : AUDIO_RENDITION;
    return id === leader && independent && (!this.#isBehind || this.#options.writer.isRelaxed);
  }

  #beginSegment(
    rendition: Rendition,
    init: Init,
    head: Head,
    { number, discontinuity }: { readonly number: number; readonly discontinuity: boolean },
  ): void {
    const isFull = (rendition.volume?.sizeBytes ?? 0) >= MAX_VOLUME_BYTES;
    const isInPeriod = rendition.volume?.period === this.#period;
    const isOver = head.startS - this.#periodStartS >= this.#options.volumeS - PERIOD_TOLERANCE_S;
    if (this.#period < 0 || isOver || (isInPeriod && (isFull || rendition.volume?.init !== init.name))) {
      this.#period += 1;
      this.#periodStartS = head.startS;
    }
    if (rendition.volume?.period !== this.#period) this.#beginVolume(rendition, init);
    const { volume, number: renditionNumber } = rendition;
    if (volume === undefined || renditionNumber === undefined || rendition.init === undefined) return;
    const { timescale } = init.track;
    const record: SegmentRecord = {
      type: 'segment',
      rendition: renditionNumber,
      number,
      volume: volume.period,
      offset: 0,
      init: rendition.init.record.number,
      startTicks: Math.round(head.startS * timescale),
      programDateTimeMs: head.programDateTimeMs,
      discontinuity,
      independent: head.independent,
    };
    const box = recordBox(record);
    volume.sizeBytes += box.length;
    const placed = { ...record, offset: volume.sizeBytes };
    const step = { type: 'segment', rendition: renditionNumber, box, record: own(encodeRecord(placed)) } as const;
    this.#post(step, applying(placed));
    for (const picture of this.#earlyPictures.values()) this.#writePicture(picture);
    this.#earlyPictures.clear();
  }

  #beginVolume(rendition: Rendition, init: Init): void {
    if (rendition.init?.name !== init.name) {
      // A continued rendition has init segments of an earlier process.
      rendition.number ??= this.#renditionCount++;
      // A recording that is continued may have the same configuration already.
      const earlier = this.#index.renditions[rendition.number]?.data.inits ?? [];
      const known = earlier.find(({ bytes }) => Buffer.compare(bytes, init.bytes) === 0);
      const record: InitRecord = known ?? {
        type: 'init',
        rendition: rendition.number,
        id: rendition.id,
        number:
          rendition.init === undefined ? earlier.length : Math.max(earlier.length, rendition.init.record.number + 1),
        track: describe(init.track),
        bytes: init.bytes,
      };
      rendition.init = { name: init.name, record };
      if (known === undefined) this.#post({ type: 'init', period: this.#period, record }, applying(record));
    }
    const { record } = rendition.init;
    const head = own(volumeHead(record));
    rendition.volume = { period: this.#period, init: init.name, sizeBytes: head.length };
    this.#post({ type: 'volume', period: this.#period, init: record, head });
  }

  #writePart(rendition: Rendition, head: Head, part: Part): void {
    const { volume, number } = rendition;
    const sizeBytes = part.bytes.length;
    if (volume === undefined || number === undefined || this.#phase.type !== 'writing') return;
    if (!this.#options.writer.hasRoomFor(sizeBytes)) {
      this.#noteBehind();
      this.#leaveOutAll();
      return;
    }
    volume.sizeBytes += sizeBytes;
    const timescale = rendition.inits.get(head.init)?.track.timescale ?? 1;
    const ticksOf = (seconds: number) => Math.round(seconds * timescale);
    const offsetTicks = ticksOf(part.startS) - ticksOf(head.startS);
    const durationTicks = ticksOf(part.durationS);
    this.#post({ type: 'part', rendition: number, offsetTicks, bytes: part.bytes }, (result) => {
      if (result?.type !== 'part') return undefined;
      return { type: 'part', rendition: number, sizeBytes, samples: result.samples, durationTicks };
    });
  }

  #endSegment(rendition: Rendition, { msn, durationS, init }: Extract<Packaged, { type: 'segment' }>): void {
    const { segment } = rendition;
    if (segment.type === 'undecided') {
      if (this.#numbers.of(msn) !== undefined) this.#decide(rendition, segment);
      else this.#numbers.leaveOut(msn);
    }
    const isKept = rendition.segment.type === 'kept';
    const { number } = rendition;
    rendition.segment = LEFT_OUT;
    if (!isKept || number === undefined || this.#phase.type !== 'writing') return;
    const timescale = rendition.inits.get(init)?.track.timescale ?? 1;
    const durationTicks = Math.round(durationS * timescale);
    const record = { type: 'segment_end', rendition: number, durationTicks } as const;
    this.#post({ type: 'segment_end', rendition: number, record: own(encodeRecord(record)) }, applying(record));
    this.#endWhenTooLong(rendition);
  }

  #endRendition(rendition: Rendition): void {
    rendition.segment = LEFT_OUT;
    if (rendition.volume === undefined || rendition.number === undefined) return;
    rendition.volume = undefined;
    this.#post({ type: 'rendition_end', rendition: rendition.number });
  }

  #endWhenTooLong({ id }: Rendition): void {
    const durationS = this.#index.rendition(id)?.data.durationS ?? 0;
    if (durationS < this.#options.maxS) return;
    this.#logger.warn({ durationS }, 'recording ended, because it is as long as a recording may be');
    this.end().catch((error: unknown) => this.#logger.warn({ err: error }, 'recording could not be ended'));
  }

  /** Leaves out media until the leading rendition has a segment that the recording can go on with. */
  #leaveOutAll(): void {
    this.#numbers.suspend();
    for (const rendition of this.#renditions.values()) rendition.segment = LEFT_OUT;
  }

  #noteBehind(): void {
    this.request.warn('recording_behind', true);
    if (this.#isBehind) return;
    this.#isBehind = true;
    const { pendingBytes } = this.#options.writer;
    this.#logger.warn({ pendingBytes }, 'recording has a gap, because the disk does not keep up');
  }

  #stop(reason: string): void {
    this.#phase = { type: 'stopped', retryAt: this.#options.clock.monotonic() + RETRY_MS };
    this.request.warn('recording_stopped', true);
    if (!this.#hasStopped) this.#logger.warn({ reason }, 'recording stopped; it goes on once the disk takes it');
    this.#hasStopped = true;
    this.#leaveOutAll();
  }

  /** Hands a step to the writer. @param record what the index learns when it was done */
  #post(step: StepOf<WriterStep>, then?: (result: StepResult) => KeptRecord | undefined): void {
    this.#options.writer.post({ ...step, path: this.request.path } as WriterStep, (result) => {
      if (result?.type === 'failed' && step.type !== 'open') {
        if (this.#phase.type === 'writing') this.#stop(result.reason);
        return;
      }
      if (result?.type === 'closed') this.#options.onClosed(result.periods);
      const record = then?.(result);
      if (record !== undefined) this.#index.apply(record);
    });
  }

  /** Makes everything durable, with the last step of the recording. The disk may do that later than this waits for it. */
  async #finish(type: 'pause' | 'end'): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#options.writer.post({ type, path: this.request.path }, (result) => {
      this.#options.onDone();
      if (type === 'end' && result?.type !== 'failed') this.#options.onEnded();
      if (result?.type === 'failed') reject(new Error(`The recording is not durable: ${result.reason}.`));
      else resolve();
    });
    if (await within(this.#options.durableWithinMs, promise)) return;
    this.#options.onDone();
    throw new Error('The recording is not durable: the disk does not answer.');
  }
}

/** Rounding of media time must not make a volume a segment longer. */
const PERIOD_TOLERANCE_S = 0.5;

type StepOf<Step> = Step extends { readonly path: string } ? Omit<Step, 'path'> : never;

const applying = (record: KeptRecord) => () => record;

/** A copy that shares no memory: a message to a thread copies the whole buffer that bytes are in. */
const own = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

function isOfSource(id: RenditionId): boolean {
  return id === SOURCE_RENDITION || id === AUDIO_RENDITION;
}

function describe(track: Track): TrackDescription {
  const { codec, codecString: rfc6381, timescale } = track;
  if (track.kind === 'audio') {
    const { channels, sampleRate } = track;
    return { kind: 'audio', codec, rfc6381, timescale, channels, sampleRate };
  }
  const { width, height, declaredFrameRate, videoRange } = track;
  return { kind: 'video', codec, rfc6381, timescale, width, height, declaredFrameRate, videoRange };
}
