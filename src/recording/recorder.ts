/**
 * The recorder of one session: decides which of the parts that viewers get are kept, and in which file. It never waits for the disk. The
 * writer thread carries its steps out, and what has been written is in the index, from which readers read.
 */
import { AUDIO_RENDITION, SOURCE_RENDITION } from '#domain/profile.ts';
import type { Packaged } from '#hls/hls.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import { within } from '#lib/within.ts';
import type { Picture } from '#media/picture.ts';
import type { RenditionId } from '#media/session-event.ts';
import type { Logger } from '#telemetry/logger.ts';
import { Backlog, type WaitingMedia } from './backlog.ts';
import { extentOf } from './extent.ts';
import { encodeRecord } from './index-file.ts';
import { describeTrack, type InitRecord, type SegmentRecord } from './index-record.ts';
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
  /** The length of a period, in seconds. */
  readonly volumeS: number;
  /** The length at which the recording ends, in seconds. */
  readonly maxS: number;
  /** The size of the index at which the recording ends. */
  readonly maxIndexBytes: number;
  /** How long a recording that ends or pauses waits for the disk, in milliseconds. */
  readonly durableWithinMs: number;
  readonly renditions: 'all' | 'source';
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the recording has ended, and all its files have left the disk. */
  readonly isOnlyStored: () => Promise<boolean>;
  /** Called when files of an earlier process are continued, with the number of their periods. */
  readonly onContinued: (periods: number) => void;
  /** Called with the numbers of periods whose index files and volumes will not change any more. */
  readonly onClosed: (periods: readonly number[]) => void;
  /** Called when the end of the recording is durable. */
  readonly onEnded: () => void;
  /** Called when this recorder will write nothing more. May be called more than once. */
  readonly onDone: () => void;
}

/** The size at which a volume is full. It ends with a whole segment, so it may be a segment larger. */
const MAX_VOLUME_BYTES = 64 * 1024 * 1024;
/** How long a recording waits after the disk failed before it tries again, with the next segment that begins. */
const RETRY_MS = 5000;
/** The most init segments of a rendition that are remembered. Segments need the newest ones. */
const MAX_INITS = 4;

type Init = Extract<Packaged, { type: 'init' }>;
type Head = Extract<Packaged, { type: 'segment_start' }>;
type Part = Extract<Packaged, { type: 'part' }>;

/** An init segment that is in the index, and its name in the live playlist. */
interface KeptInit {
  readonly name: string;
  readonly record: InitRecord;
}

/** A volume to which the parts of a rendition are written. All of them have the same init segment. */
interface Volume {
  readonly period: number;
  readonly init: KeptInit;
  sizeBytes: number;
}

/** The decision about the segment that a rendition is in. It is `left_out` unless the recorder is `writing`. */
type Segment =
  /** Not decided yet: all its parts so far only fill a gap, or the leading rendition has not resumed the recording. Its parts wait. */
  | { readonly type: 'undecided'; readonly head: Head; readonly parts: Part[] }
  | { readonly type: 'kept'; readonly head: Head; readonly volume: Volume }
  | { readonly type: 'left_out' };

interface Rendition {
  readonly id: RenditionId;
  /** Its number in the index. Undefined while nothing of it is kept. */
  number: number | undefined;
  readonly inits: Map<string, Init>;
  segment: Segment;
  /** The newest init segment of this rendition that is in the index. */
  init: KeptInit | undefined;
  volume: Volume | undefined;
  /** The period of the newest volume of the rendition, which may be closed. A rendition has at most one volume in a period. */
  period: number | undefined;
}

/**
 * The phases of a recorder.
 *
 * - `opening`: the writer looks for files of an earlier process. What is packaged in the meantime waits.
 * - `writing`: media is written.
 * - `stopped`: the disk failed or is full. Opening is tried again from `retryAt` on, in milliseconds of the monotonic clock, but
 *   never when a recording of an earlier process has turned out to have ended.
 * - `closed`: nothing more is written.
 */
type Phase =
  | { readonly type: 'opening'; readonly backlog: Backlog }
  | { readonly type: 'writing' }
  | { readonly type: 'stopped'; readonly retryAt: number }
  | { readonly type: 'closed' };

const LEFT_OUT: Segment = { type: 'left_out' };

/** Records one session. */
export class SessionRecorder implements Recorder {
  readonly request: RecordingRequest;
  readonly #options: RecorderOptions;
  readonly #logger: Logger;
  readonly #renditions = new Map<RenditionId, Rendition>();
  /** The newest init segments of each rendition by name, also of renditions that have no segment yet. */
  readonly #inits = new Map<RenditionId, BoundedMap<string, Init>>();
  #index = new RecordingIndex();
  #numbers = new SegmentNumbers();
  #phase: Phase;
  /** The first picture of each kind, until there is a period in whose file it can be written. */
  readonly #earlyPictures = new Map<Picture['kind'], Picture>();
  #period = -1;
  /** Undefined until the first segment since the recording was opened. It begins a period, because those before are closed. */
  #periodStartS: number | undefined;
  /** The number of renditions that the index has, or will have once the writer has carried out all steps. */
  #renditionCount = 0;
  /** The size of the index, as of the newest part. */
  #indexBytes = 0;
  #isBehind = false;
  #wasOpened = false;
  /** Resolves once the writer has opened the recording, or has failed to. */
  #opened: Promise<void> = Promise.resolve();
  #ended: Promise<RecordingExtent> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.request = options.request;
    this.#logger = options.logger.child({ sessionId: options.request.sessionId });
    this.#phase = this.#open({ isRetry: false });
  }

  /**
   * Resolves once the files of an earlier process have been read, or reading them has failed. Until then the index is empty. Never rejects.
   */
  get opened(): Promise<void> {
    return this.#opened;
  }

  /** The index of what has been written. It is another object after the disk failed and the recording was opened again. */
  get index(): RecordingIndex {
    return this.#index;
  }

  get extent(): RecordingExtent {
    return extentOf(this.#index);
  }

  write(renditionId: RenditionId, packaged: Packaged): void {
    if (this.#ended !== undefined) return;
    if (this.#options.renditions === 'source' && !isOfSource(renditionId)) return;
    if (packaged.type === 'init') this.#initsOf(renditionId).set(packaged.name, packaged);
    if (this.#phase.type === 'opening') {
      if (!this.#phase.backlog.add(renditionId, packaged)) this.#noteBehind();
    } else if (this.#phase.type !== 'closed') this.#take(renditionId, packaged);
  }

  picture(picture: Picture): void {
    if (this.#ended !== undefined || this.#phase.type === 'closed' || this.#phase.type === 'stopped') return;
    if (this.#phase.type === 'writing' && this.#periodStartS !== undefined) this.#writePicture(picture);
    // The first pictures come before the first segment is known to be kept. Files of an earlier period may be uploaded already.
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
    if (this.#phase.type === 'stopped' && !this.#hasEndedElsewhere) this.#phase = this.#open({ isRetry: true });
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

  /** Tells the writer to open the recording, and continues where its files end. @param isRetry whether the disk has failed before */
  #open({ isRetry }: { readonly isRetry: boolean }): Extract<Phase, { type: 'opening' }> {
    const { sessionId, epoch, targetDurationS, isContinued } = this.request;
    const backlog = new Backlog(this.#options.writer);
    const phase = { type: 'opening', backlog } as const;
    this.#opened = new Promise((resolve) => {
      const manifest = { version: 1, sessionId, epoch, targetDurationS } as const;
      // Without its files, the recording would begin again from its first segment, and replace what is in the bucket.
      const mustExist = isContinued || this.#wasOpened;
      this.#post({ type: 'open', manifest, mustExist }, (result) => {
        const waiting = backlog.take();
        if (this.#phase === phase) this.#onOpened(result, waiting, isRetry);
        resolve();
        return undefined;
      });
    });
    return phase;
  }

  #onOpened(result: StepResult, waiting: readonly WaitingMedia[], isRetry: boolean): void {
    if (result?.type !== 'opened') {
      this.#stop(result?.type === 'failed' ? result.reason : 'no answer', { isRetry });
      if (this.request.isContinued && !this.#wasOpened) void this.#stayIfEnded();
      return;
    }
    this.#wasOpened = true;
    this.#index = new RecordingIndex(result.index);
    this.#numbers = new SegmentNumbers(this.#index.lastNumber + 1);
    this.#period = result.nextPeriod - 1;
    if (result.nextPeriod > 0) this.#options.onContinued(result.nextPeriod);
    this.#periodStartS = undefined;
    this.#renditions.clear();
    for (const [number, { id }] of this.#index.renditions.entries()) this.#addRendition(id).number = number;
    this.#renditionCount = this.#index.renditions.length;
    if (isRetry) this.request.warn('recording_stopped', false);
    if (this.#index.hasEnded) {
      this.#phase = { type: 'closed' };
      if (this.#ended === undefined) this.#warnOfEnd();
      return;
    }
    this.#phase = { type: 'writing' };
    for (const [id, packaged] of waiting) this.#take(id, packaged);
  }

  /** Stays stopped if the recording has ended and left the disk. When that cannot be found out, the next attempt asks again. */
  async #stayIfEnded(): Promise<void> {
    const hasEnded = await this.#options.isOnlyStored().catch((error: unknown) => {
      this.#logger.debug({ err: error }, 'it is not known yet whether the recording has ended');
      return false;
    });
    if (!hasEnded || this.#ended !== undefined || this.#phase.type !== 'stopped' || this.#hasEndedElsewhere) return;
    this.#phase = { type: 'stopped', retryAt: Infinity };
    this.request.warn('recording_stopped', false);
    this.#warnOfEnd();
  }

  get #hasEndedElsewhere(): boolean {
    return this.#phase.type === 'stopped' && this.#phase.retryAt === Infinity;
  }

  /** Warns of a limit that was reached before the server was restarted, or of a session of a restored database that ended long ago. */
  #warnOfEnd(): void {
    this.request.warn('recording_limit_reached', true);
    this.#logger.warn({}, 'nothing more is recorded of the session, because its recording has ended');
  }

  #initsOf(id: RenditionId): BoundedMap<string, Init> {
    const inits = this.#inits.get(id) ?? new BoundedMap(MAX_INITS);
    this.#inits.set(id, inits);
    return inits;
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
    const inits = this.#initsOf(id);
    const none = { number: undefined, init: undefined, volume: undefined, period: undefined };
    const rendition: Rendition = { ...none, id, inits, segment: LEFT_OUT };
    this.#renditions.set(id, rendition);
    return rendition;
  }

  #startSegment(rendition: Rendition, head: Head): void {
    if (this.#phase.type !== 'stopped') {
      rendition.segment = { type: 'undecided', head, parts: [] };
    } else if (this.#mayTryAgain(this.#phase.retryAt)) {
      this.#phase = this.#open({ isRetry: true });
      this.#phase.backlog.add(rendition.id, head);
    }
  }

  #mayTryAgain(at: number): boolean {
    return this.#options.clock.monotonic() >= at && this.#options.writer.isRelaxed;
  }

  #takePart(rendition: Rendition, part: Part): void {
    const { segment } = rendition;
    if (segment.type === 'kept') this.#writePart(segment, part);
    if (segment.type !== 'undecided') return;
    segment.parts.push(part);
    if (part.isFilling && this.#numbers.of(segment.head.msn) === undefined) return;
    this.#decide(rendition, segment);
  }

  /** Decides whether a segment is kept, unless that cannot be known yet. */
  #decide(rendition: Rendition, segment: Extract<Segment, { type: 'undecided' }>): void {
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
    this.#beginSegment(rendition, init, head, numbered);
    for (const part of parts) this.#takePart(rendition, part);
  }

  /** Whether the recording can continue with a segment: a decodable one of the leading rendition, when the writer has room. */
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
    const { volume: open } = rendition;
    const mayGoOn = open !== undefined && open.sizeBytes < MAX_VOLUME_BYTES && open.init.name === init.name;
    const isOver =
      this.#periodStartS === undefined ||
      head.startS - this.#periodStartS >= this.#options.volumeS - PERIOD_TOLERANCE_S;
    if (isOver || (rendition.period === this.#period && !mayGoOn)) {
      this.#period += 1;
      this.#periodStartS = head.startS;
    }
    const volume = open?.period === this.#period ? open : this.#beginVolume(rendition, init);
    rendition.segment = { type: 'kept', head, volume };
    const { record: initRecord } = volume.init;
    const record: SegmentRecord = {
      type: 'segment',
      rendition: initRecord.rendition,
      number,
      volume: volume.period,
      offset: 0,
      init: initRecord.number,
      startTicks: Math.round(head.startS * initRecord.track.timescale),
      programDateTimeMs: head.programDateTimeMs,
      discontinuity,
      independent: head.independent,
    };
    const box = recordBox(record);
    volume.sizeBytes += box.length;
    const placed = { ...record, offset: volume.sizeBytes };
    const step = { type: 'segment', rendition: initRecord.rendition, box, record: own(encodeRecord(placed)) } as const;
    this.#post(step, applying(placed));
    for (const picture of this.#earlyPictures.values()) this.#writePicture(picture);
    this.#earlyPictures.clear();
  }

  #beginVolume(rendition: Rendition, init: Init): Volume {
    if (rendition.init?.name !== init.name) {
      rendition.number ??= this.#renditionCount++;
      // The index of a continued recording may have this configuration already, from an earlier process.
      const earlier = this.#index.renditions[rendition.number]?.data.inits ?? [];
      const known = earlier.find(({ bytes }) => Buffer.compare(bytes, init.bytes) === 0);
      const record: InitRecord = known ?? {
        type: 'init',
        rendition: rendition.number,
        id: rendition.id,
        number:
          rendition.init === undefined ? earlier.length : Math.max(earlier.length, rendition.init.record.number + 1),
        track: describeTrack(init.track),
        bytes: init.bytes,
      };
      rendition.init = { name: init.name, record };
      if (known === undefined) this.#post({ type: 'init', period: this.#period, record }, applying(record));
    }
    const { record } = rendition.init;
    const head = own(volumeHead(record));
    const volume = { period: this.#period, init: rendition.init, sizeBytes: head.length };
    rendition.volume = volume;
    rendition.period = this.#period;
    this.#post({ type: 'volume', period: this.#period, init: record, head });
    return volume;
  }

  #writePart({ head, volume }: Extract<Segment, { type: 'kept' }>, part: Part): void {
    const { rendition, track } = volume.init.record;
    const { sizeBytes } = part;
    if (!this.#options.writer.hasRoomFor(sizeBytes)) {
      this.#noteBehind();
      this.#leaveOutAll();
      return;
    }
    volume.sizeBytes += sizeBytes;
    const ticksOf = (seconds: number) => Math.round(seconds * track.timescale);
    const offsetTicks = ticksOf(part.startS) - ticksOf(head.startS);
    const durationTicks = ticksOf(part.durationS);
    this.#post({ type: 'part', rendition, offsetTicks, bytes: own(...part.pieces) }, (result) => {
      if (result?.type !== 'part') return undefined;
      this.#indexBytes = result.indexBytes;
      return { type: 'part', rendition, sizeBytes, samples: result.samples, durationTicks };
    });
  }

  #endSegment(rendition: Rendition, { msn, durationS }: Extract<Packaged, { type: 'segment' }>): void {
    const { segment } = rendition;
    if (segment.type === 'undecided') {
      if (this.#numbers.of(msn) !== undefined) this.#decide(rendition, segment);
      else this.#numbers.leaveOut(msn);
    }
    const decided = rendition.segment;
    rendition.segment = LEFT_OUT;
    if (decided.type !== 'kept') return;
    const { rendition: number, track } = decided.volume.init.record;
    const durationTicks = Math.round(durationS * track.timescale);
    const record = { type: 'segment_end', rendition: number, durationTicks } as const;
    this.#post({ type: 'segment_end', rendition: number, record: own(encodeRecord(record)) }, applying(record));
    this.#endAtLimit(rendition);
  }

  #endRendition(rendition: Rendition): void {
    const { volume } = rendition;
    rendition.segment = LEFT_OUT;
    rendition.volume = undefined;
    if (volume !== undefined) this.#post({ type: 'rendition_end', rendition: volume.init.record.rendition });
  }

  #endAtLimit({ id }: Rendition): void {
    if (this.#ended !== undefined) return;
    const indexBytes = this.#indexBytes;
    const durationS = this.#index.rendition(id)?.data.durationS ?? 0;
    const isLong = durationS >= this.#options.maxS;
    if (!isLong && indexBytes < this.#options.maxIndexBytes) return;
    this.request.warn('recording_limit_reached', true);
    const limit = isLong ? 'longest duration of a recording' : 'largest index of a recording';
    this.#logger.warn({ durationS, indexBytes }, `recording ended, because it reached the ${limit}`);
    this.end().catch((error: unknown) => this.#logger.warn({ err: error }, 'recording could not be ended'));
  }

  /** Leaves out the media of all renditions until the leading one has a segment with which the recording can continue. */
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

  #stop(reason: string, { isRetry = false } = {}): void {
    this.#phase = { type: 'stopped', retryAt: this.#options.clock.monotonic() + RETRY_MS };
    this.request.warn('recording_stopped', true);
    if (!isRetry) this.#logger.warn({ reason }, 'recording stopped; it goes on once the disk takes it');
    this.#leaveOutAll();
  }

  /** Hands a step to the writer. @param then called with the result; returns the record that is added to the index in memory */
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

  /**
   * Posts the last step of the recording, which makes everything durable.
   * @throws {Error} when that fails or takes too long. The disk may still complete it later
   */
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

/** A period may end this much early, in seconds, so that rounding of media time does not make it a segment longer. */
const PERIOD_TOLERANCE_S = 0.5;

type StepOf<Step> = Step extends { readonly path: string } ? Omit<Step, 'path'> : never;

const applying = (record: KeptRecord) => () => record;

/** Copies bytes into a buffer of their own, because a message to a thread copies or hands over the whole buffer that they are in. */
function own(...pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function isOfSource(id: RenditionId): boolean {
  return id === SOURCE_RENDITION || id === AUDIO_RENDITION;
}
