/**
 * Checks what a worker sends and turns it into tracks and packets. Nothing is trusted, because the worker decodes the input of strangers.
 */
import { ticks } from '#lib/units.ts';
import { parseAudioSpecificConfig } from '#media/codecs/aac.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import type { Packet } from '#media/packet.ts';
import { SampleMemory } from '#media/sample-memory.ts';
import type { RenditionId } from '#media/session-event.ts';
import { type AudioTrack, sameTrack, type VideoTrack } from '#media/track.ts';
import type { VideoEvent } from './feed.ts';
import { FramingError } from './framing.ts';
import type { RenditionPlan } from './rendition-plan.ts';
import { type SegmentStart, withEvent } from './segment-start.ts';
import type { TranscoderCallbacks } from './transcoder.ts';
import type { AudioPacket, RenditionPacket } from './worker-messages.ts';

/** The number of segments that a worker may still begin: many times what it can have unprocessed. */
const MAX_STARTS = 64;

/** A source and its renditions. */
export interface AnnouncedSource {
  readonly renditions: readonly RenditionPlan[];
  /** The frame rate that the bitstream of the source declares. */
  readonly declaredFrameRate: number | undefined;
}

/** The receivers of checked results. */
export type ResultCallbacks = Pick<TranscoderCallbacks, 'onTrack' | 'onPacket' | 'onAudioTrack' | 'onAudioPacket'>;

/** A rendition whose configuration was received. */
interface Output {
  readonly track: VideoTrack;
  readonly memory: SampleMemory;
  lastDts: number;
}

const NO_SOURCE: AnnouncedSource = { renditions: [], declaredFrameRate: undefined };

/** Reads the results of a session's workers, one worker after another. The times of each continue after those of the previous one. */
export class WorkerResults {
  readonly #callbacks: ResultCallbacks;
  /** The sources that this worker was sent and has not begun. */
  #announced: AnnouncedSource[] = [];
  /** The source that its packets belong to. */
  #begun = NO_SOURCE;
  /** The starts of segments whose rendition packets may still come. */
  #starts: readonly SegmentStart[] = [];
  /** The latest presentation time that was sent. */
  #sentPts = Number.NEGATIVE_INFINITY;
  readonly #outputs = new Map<RenditionId, Output>();
  #audioTrack: AudioTrack | undefined;
  readonly #audioMemory = new SampleMemory('audio');
  #audioEnd = 0;
  /** The end of the audio that the worker was sent, in samples. */
  #audioSentEnd = 0;

  constructor(callbacks: ResultCallbacks) {
    this.#callbacks = callbacks;
  }

  /** The end of the audio made so far, in samples. 0 before the first. */
  get audioEnd(): number {
    return this.#audioEnd;
  }

  /** The newest segment whose mark was sent. -1 before the first. */
  get sentOrdinal(): number {
    return this.#starts.at(-1)?.mark.ordinal ?? -1;
  }

  /** Notes that the worker was sent a source. */
  announce(source: AnnouncedSource): void {
    this.#announced.push(source);
  }

  /** Notes that the worker was sent a video event. Results show no later frame. */
  sent(event: VideoEvent): void {
    this.#sentPts = Math.max(this.#sentPts, event.type === 'packet' ? event.packet.pts : event.pts);
    this.#starts = withEvent(this.#starts, event, MAX_STARTS);
  }

  /** Notes that the worker was sent audio up to this sample. Results begin before it. */
  expectAudioUntil(end: number): void {
    this.#audioSentEnd = end;
  }

  /** Notes that the worker is gone with everything it was sent. */
  lost(): void {
    this.#announced = [];
    this.#begun = NO_SOURCE;
  }

  /** Notes that the following packets belong to the next source. */
  begun(): void {
    this.#begun = this.#announced.shift() ?? NO_SOURCE;
  }

  /** Takes the configuration of a rendition. @throws {Error} when there is no such rendition, or the bytes are not a configuration */
  config(rendition: number, config: Uint8Array): void {
    const { id, frameRate } = this.#rendition(rendition);
    const limit = frameRate && frameRate.num / frameRate.den;
    const declared = this.#begun.declaredFrameRate;
    const declaredFrameRate = limit === undefined ? declared : Math.min(limit, declared ?? limit);
    const track: VideoTrack = { ...parseAvcConfig(config), declaredFrameRate };
    const output = this.#outputs.get(id);
    if (output !== undefined && sameTrack(output.track, track)) return;
    this.#outputs.set(id, {
      track,
      memory: output?.memory ?? new SampleMemory('video'),
      lastDts: output?.lastDts ?? -1,
    });
    this.#callbacks.onTrack(id, track);
  }

  /**
   * Names a rendition whose encoder failed. Undefined when another source has been sent since.
   * @throws {FramingError} when there is no such rendition
   */
  failed(rendition: number): RenditionId | undefined {
    const { id } = this.#rendition(rendition);
    return this.#announced.length > 0 ? undefined : id;
  }

  /** Takes a packet of a rendition. @throws {FramingError} when the packet is invalid */
  packet({ rendition, pts, dts, keyframe, marked, data }: RenditionPacket): void {
    const { id } = this.#rendition(rendition);
    const output = this.#outputs.get(id);
    const isStart = ({ firstPts, lastPts }: SegmentStart) => firstPts <= pts && pts <= lastPts;
    const mark = marked ? this.#starts.findLast(isStart)?.mark : undefined;
    // With B-frames, x264 begins before the time of the first frame. The times of a session begin at 0 and never go back.
    const orderedDts = Math.max(dts, (output?.lastDts ?? -1) + 1);
    const isPossible = orderedDts <= pts && pts <= this.#sentPts && data.length > 0;
    if (output === undefined || !isPossible || (marked && !(keyframe && mark !== undefined))) {
      throw new FramingError(`The worker sent an invalid packet: pts ${pts}, dts ${dts}, ${data.length} bytes.`);
    }
    output.lastDts = orderedDts;
    const kept = output.memory.keep(data);
    const packet: Packet = { kind: 'video', pts: ticks(pts), dts: ticks(orderedDts), keyframe, data: kept };
    this.#callbacks.onPacket(id, mark === undefined ? packet : { ...packet, mark: { ...mark, independent: true } });
  }

  /** Takes the configuration of the audio. @throws {Error} when the bytes are not a configuration */
  audioConfig(config: Uint8Array): void {
    const track = parseAudioSpecificConfig(config);
    if (this.#audioTrack !== undefined && sameTrack(this.#audioTrack, track)) return;
    this.#audioTrack = track;
    this.#callbacks.onAudioTrack(track);
  }

  /** Takes a packet of the audio. @throws {FramingError} when the packet is invalid */
  audio({ pts, data }: AudioPacket): void {
    const track = this.#audioTrack;
    if (track === undefined || pts >= this.#audioSentEnd || data.length === 0) {
      throw new FramingError(`The worker sent invalid audio: pts ${pts}, ${data.length} bytes.`);
    }
    // A new encoder begins one packet before its first samples.
    if (pts < this.#audioEnd) return;
    this.#audioEnd = pts + track.samplesPerPacket;
    const kept = this.#audioMemory.keep(data);
    this.#callbacks.onAudioPacket({ kind: 'audio', pts: ticks(pts), dts: ticks(pts), keyframe: true, data: kept });
  }

  #rendition(index: number): RenditionPlan {
    const rendition = this.#begun.renditions[index];
    if (rendition === undefined) throw new FramingError(`The source has no rendition ${index}.`);
    return rendition;
  }
}
