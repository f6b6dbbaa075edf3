/**
 * What a worker sends, checked and turned into tracks and packets: it decodes what strangers send, so it is believed nothing.
 */
import { ticks } from '#lib/units.ts';
import { parseAudioSpecificConfig } from '#media/codecs/aac.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import type { Packet } from '#media/packet.ts';
import type { RenditionId } from '#media/session-event.ts';
import { type AudioTrack, sameTrack, type VideoTrack } from '#media/track.ts';
import type { VideoEvent } from './feed.ts';
import { FramingError } from './framing.ts';
import type { RenditionPlan } from './rendition-plan.ts';
import { type SegmentStart, withEvent } from './segment-start.ts';
import type { TranscoderCallbacks } from './transcoder.ts';
import type { AudioPacket, RenditionPacket } from './worker-messages.ts';

/** Segments a worker may still begin: what it can have in hand, many times over. */
const MAX_STARTS = 64;

/** What is made of one source. */
export interface AnnouncedSource {
  readonly renditions: readonly RenditionPlan[];
  /** Of the source, as its bitstream declares it. */
  readonly declaredFrameRate: number | undefined;
}

/** Where checked results go. */
export type ResultCallbacks = Pick<TranscoderCallbacks, 'onTrack' | 'onPacket' | 'onAudioTrack' | 'onAudioPacket'>;

const NOTHING: AnnouncedSource = { renditions: [], declaredFrameRate: undefined };

/** Reads what the workers of one session make, one worker after the other: their times go on where those of the last one ended. */
export class WorkerResults {
  readonly #callbacks: ResultCallbacks;
  /** What this worker was told and has not begun, then what its packets belong to. */
  #announced: AnnouncedSource[] = [];
  #begun = NOTHING;
  /** Of segments whose rendition packets may still come. */
  #starts: readonly SegmentStart[] = [];
  /** The latest it was sent. */
  #sentPts = Number.NEGATIVE_INFINITY;
  readonly #outputs = new Map<RenditionId, { readonly track: VideoTrack; lastDts: number }>();
  #audioTrack: AudioTrack | undefined;
  #audioEnd = 0;
  #audioSentEnd = 0;

  constructor(callbacks: ResultCallbacks) {
    this.#callbacks = callbacks;
  }

  /** End of the sound that was made, in samples; 0 before the first. */
  get audioEnd(): number {
    return this.#audioEnd;
  }

  /** The worker was told of a source. */
  announce(source: AnnouncedSource): void {
    this.#announced.push(source);
  }

  /** The worker was sent the next event of the video: what comes back shows no later frame. */
  sent(event: VideoEvent): void {
    this.#sentPts = Math.max(this.#sentPts, event.type === 'packet' ? event.packet.pts : event.pts);
    this.#starts = withEvent(this.#starts, event, MAX_STARTS);
  }

  /** The worker was sent audio up to here, in samples: what comes back begins before it. */
  expectAudioUntil(end: number): void {
    this.#audioSentEnd = end;
  }

  /** The worker is gone, and what it was told with it. */
  lost(): void {
    this.#announced = [];
    this.#begun = NOTHING;
  }

  /** From now on packets are of the next source. */
  begun(): void {
    this.#begun = this.#announced.shift() ?? NOTHING;
  }

  /** @throws {Error} when there is no such rendition, or this is no decoder configuration */
  config(rendition: number, config: Uint8Array): void {
    const { id, frameRate } = this.#rendition(rendition);
    const limit = frameRate && frameRate.num / frameRate.den;
    const declared = this.#begun.declaredFrameRate;
    const declaredFrameRate = limit === undefined ? declared : Math.min(limit, declared ?? limit);
    const track: VideoTrack = { ...parseAvcConfig(config), declaredFrameRate };
    const output = this.#outputs.get(id);
    if (output !== undefined && sameTrack(output.track, track)) return;
    this.#outputs.set(id, { track, lastDts: output?.lastDts ?? -1 });
    this.#callbacks.onTrack(id, track);
  }

  /** @throws {FramingError} when the packet cannot be */
  packet({ rendition, pts, dts, keyframe, cut, data }: RenditionPacket): void {
    const { id } = this.#rendition(rendition);
    const output = this.#outputs.get(id);
    const isStart = ({ firstPts, lastPts }: SegmentStart) => firstPts <= pts && pts <= lastPts;
    const mark = cut ? this.#starts.findLast(isStart)?.mark : undefined;
    // x264 begins B-frames before the first picture's time; a session's times begin at 0 and never go back.
    const orderedDts = Math.max(dts, (output?.lastDts ?? -1) + 1);
    const isPossible = orderedDts <= pts && pts <= this.#sentPts && data.length > 0;
    if (output === undefined || !isPossible || (cut && !(keyframe && mark !== undefined))) {
      throw new FramingError(`It sent a packet that cannot be: pts ${pts}, dts ${dts}, ${data.length} bytes.`);
    }
    output.lastDts = orderedDts;
    const packet: Packet = { kind: 'video', pts: ticks(pts), dts: ticks(orderedDts), keyframe, data };
    this.#callbacks.onPacket(id, mark === undefined ? packet : { ...packet, mark: { ...mark, independent: true } });
  }

  /** @throws {Error} when this is no decoder configuration */
  audioConfig(config: Uint8Array): void {
    const track = parseAudioSpecificConfig(config);
    if (this.#audioTrack !== undefined && sameTrack(this.#audioTrack, track)) return;
    this.#audioTrack = track;
    this.#callbacks.onAudioTrack(track);
  }

  /** @throws {FramingError} when the packet cannot be */
  audio({ pts, data }: AudioPacket): void {
    const track = this.#audioTrack;
    if (track === undefined || pts >= this.#audioSentEnd || data.length === 0) {
      throw new FramingError(`It sent sound that cannot be: pts ${pts}, ${data.length} bytes.`);
    }
    // A new encoder begins a packet before its first sound.
    if (pts < this.#audioEnd) return;
    this.#audioEnd = pts + track.samplesPerPacket;
    this.#callbacks.onAudioPacket({ kind: 'audio', pts: ticks(pts), dts: ticks(pts), keyframe: true, data });
  }

  #rendition(index: number): RenditionPlan {
    const rendition = this.#begun.renditions[index];
    if (rendition === undefined) throw new FramingError(`It has no rendition ${index}.`);
    return rendition;
  }
}
