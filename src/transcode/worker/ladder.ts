/**
 * The whole video work of a transcoder, from packets to encoded frames: one decoder, the rungs and the pictures.
 */
import type { Frame } from 'node-av/lib';
import { FrameRhythm } from '#media/frame-rhythm.ts';
import type { Packet } from '#media/packet.ts';
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { PictureKind } from '#media/picture.ts';
import type { HeldEvent } from '#media/session-event.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { ENCODERS } from '#transcode/encoders.ts';
import { type SegmentStart, withEvent } from '#transcode/segment-start.ts';
import { areaOf, type Size } from '#transcode/size.ts';
import type { PictureState } from '#transcode/transcoder.ts';
import type { Job, SourceDescription } from '#transcode/worker-messages.ts';
import { Photographer, pictureSize } from './photographer.ts';
import { PictureWatch } from './picture-watch.ts';
import { Rung, type RungFrame } from './rung.ts';
import { ScaledFrames } from './scaled-frames.ts';
import { VideoDecoder } from './video-decoder.ts';

/** The number of segment starts that the decoder may hold for reordering. H.264 reorders at most 16 frames. */
const MAX_STARTS = 32;

/** In ticks. A frame that lasts longer without being held is not repeated. This is longer than any encoder holds frames back. */
const LONGEST_PAUSE = 15 * VIDEO_TIMESCALE;

/** The receivers of a ladder's results. Renditions are identified by their index in the source's list. */
export interface LadderOutput {
  /** Called with the decoder configuration record of a rendition, before its frames. */
  onConfig(rendition: number, config: Uint8Array): void;
  /** Called with the next encoded frame of a rendition. */
  onFrame(rendition: number, frame: RungFrame): void;
  /** Called when the encoder of a rendition has failed. The others are still made. */
  onFailed(rendition: number): void;
  /** Called when frames were lost. No rendition continues before the next segment. */
  onMissing(): void;
  /** Called with a picture, whose time is in ticks. */
  onPicture(picture: { readonly kind: PictureKind; readonly pts: number; readonly jpeg: Uint8Array }): void;
  /** Called before a computation that takes seconds of CPU time, during which nothing else is done. */
  onPreparing(): void;
}

/** A packet for a ladder. */
export interface LadderPacket {
  readonly packet: Packet;
  /** Whether packets before this one, which is a keyframe, were dropped. */
  readonly afterGap: boolean;
}

/** The ladder of one source at a time. All work is done inside the calls. */
export class Ladder implements Disposable {
  readonly #job: Job;
  readonly #output: LadderOutput;
  #decoder: VideoDecoder | undefined;
  /** The newest decoded frame, in all its sizes. */
  #frames: ScaledFrames | undefined;
  #photographers: readonly Photographer[] = [];
  /** By the index in the source's list. */
  #rungs: readonly Rung[] = [];
  /** The active rungs, largest first. */
  #active: readonly Rung[] = [];
  /** The starts of segments whose first frame has not come out of the decoder yet. */
  #starts: readonly SegmentStart[] = [];
  /** Whether the last frame is held. */
  #isHolding = false;
  /** Whether frames were lost, and no segment has begun since. */
  #isMissing = false;
  /** The time of the latest frame, also a repeated one, since frames were missing. */
  #shownPts = Number.NEGATIVE_INFINITY;
  #earlierErrors = 0;
  /** Replaced with each source. */
  #watch = new PictureWatch();

  constructor(job: Job, output: LadderOutput) {
    this.#job = job;
    this.#output = output;
  }

  /** The number of packets that could not be decoded. */
  get decodeErrors(): number {
    return this.#earlierErrors + (this.#decoder?.errors ?? 0);
  }

  /** For how long the video has been black or frozen. */
  get picture(): PictureState {
    return this.#watch.state;
  }

  /**
   * Begins or changes the source. Frames still held of the previous one are lost.
   * @throws {FFmpegError} when it cannot be decoded at all
   */
  setSource(source: SourceDescription): void {
    this.#close();
    this.#isMissing = false;
    this.#watch = new PictureWatch();
    const rhythm = new FrameRhythm(source.framesPerSecond);
    this.#decoder = new VideoDecoder(source, (frame, before) => this.#onDecoded(frame, before, rhythm));
    this.#frames = new ScaledFrames(largestSize(source), () => this.#output.onPreparing());
    this.#photographers = this.#job.pictures.map(
      (kind) => new Photographer(kind, source, (jpeg, pts) => this.#output.onPicture({ kind, pts, jpeg })),
    );
    this.#rungs = source.renditions.map((plan, index) => {
      const limit = plan.frameRate === undefined ? Number.POSITIVE_INFINITY : plan.frameRate.num / plan.frameRate.den;
      return new Rung({
        plan,
        encoder: ENCODERS[0],
        settings: { ...this.#job, framesPerSecond: Math.min(limit, source.framesPerSecond) },
        onConfig: (config) => this.#output.onConfig(index, config),
        onFrame: (encoded) => this.#output.onFrame(index, encoded),
        onFailed: () => this.#onFailed(index),
      });
    });
    this.setActive(this.#rungs.map((_, index) => index));
  }

  /** Makes only these renditions, except those whose encoder has failed. A restored one begins at the next segment. */
  setActive(renditions: readonly number[]): void {
    const active = this.#rungs.filter(({ hasFailed }, index) => !hasFailed && renditions.includes(index));
    for (const rung of this.#rungs) if (!active.includes(rung)) rung.stop();
    this.#active = active.toSorted((a, b) => areaOf(b.plan) - areaOf(a.plan));
  }

  /** Takes the next packet in decoding order. */
  write({ packet, afterGap }: LadderPacket): void {
    if (this.#decoder === undefined) return;
    if (afterGap) {
      this.#decoder.skip();
      this.#interrupt();
    }
    // Frames before a discontinuity must not wait for those after it.
    if (packet.mark?.discontinuity) this.finish();
    if (this.#active.length === 0) {
      // Only pictures are made, so keyframes are enough. Each is forced out of the decoder at once.
      if (packet.keyframe && this.#decoder.decode(packet)) this.#decoder.skip();
      return;
    }
    this.#starts = withEvent(this.#starts, { type: 'packet', packet }, MAX_STARTS);
    if (this.#decoder.decode(packet)) this.#isHolding = false;
    else this.#interrupt();
  }

  /** Notes that no frame came and the last one is repeated. A player can begin at the first repetition. */
  hold(event: HeldEvent): void {
    if (this.#decoder === undefined || this.#active.length === 0) return;
    this.#starts = withEvent(this.#starts, event, MAX_STARTS);
    const { shown } = this.#decoder;
    if (shown === undefined) return;
    if (!this.#isHolding) for (const rung of this.#rungs) rung.refresh();
    this.#isHolding = true;
    this.#show(shown, event.pts, true);
  }

  /** Encodes everything that is held, because nothing follows for now. Work continues at the next keyframe that begins a segment. */
  finish(): void {
    this.#decoder?.skip();
    for (const rung of this.#rungs) rung.finish();
    this.#shownPts = Number.NEGATIVE_INFINITY;
    this.#starts = [];
  }

  [Symbol.dispose](): void {
    this.#close();
  }

  #onFailed(rendition: number): void {
    this.#active = this.#active.filter(({ hasFailed }) => !hasFailed);
    this.#output.onFailed(rendition);
  }

  /**
   * Between two frames that are further apart than the length of a part, and than usual, the first is repeated, because each part must have
   * one.
   */
  #onDecoded(frame: Frame, before: Frame | undefined, rhythm: FrameRhythm): void {
    const pts = Number(frame.pts);
    const apart = pts - this.#shownPts;
    const longest = Math.max(PART_LENGTH_S, rhythm.patienceS) * VIDEO_TIMESCALE;
    if (before !== undefined && apart > longest && apart < LONGEST_PAUSE) {
      const step = Math.round(rhythm.stepS * VIDEO_TIMESCALE);
      for (let at = this.#shownPts + step; at + step / 2 < pts; at += step) this.#show(before, at, true);
      rhythm.repeated();
    }
    rhythm.saw(pts / VIDEO_TIMESCALE);
    this.#show(frame, pts, false);
  }

  #show(frame: Frame, pts: number, repeated: boolean): void {
    this.#shownPts = Math.max(this.#shownPts, pts);
    while (this.#starts.length > 0 && this.#starts[0]!.lastPts < pts) {
      // The frame that should begin the segment did not come out of the decoder. The next one begins it.
      this.#starts = this.#starts.slice(1);
      this.#loseFrames();
    }
    const marked = this.#starts.length > 0 && this.#starts[0]!.firstPts <= pts;
    if (marked) {
      this.#starts = this.#starts.slice(1);
      this.#isMissing = false;
    }
    const frames = this.#frames;
    if (frames === undefined) return;
    frames.begin(frame);
    // Each rung scales the next larger frame, because the cost of scaling depends on the pixels read.
    for (const rung of this.#active) rung.offer(frames, { pts, marked, repeated });
    for (const photographer of this.#photographers) photographer.offer(frames, pts);
    // The smallest frame is 8-bit 4:2:0 wherever there is a rendition. A repeated frame says nothing new about the video.
    if (!repeated) this.#watch.offer(frames.smallestAsItIs, pts);
  }

  #interrupt(): void {
    this.#shownPts = Number.NEGATIVE_INFINITY;
    this.#starts = [];
    this.#loseFrames();
  }

  #loseFrames(): void {
    for (const rung of this.#rungs) rung.interrupt();
    if (!this.#isMissing) this.#output.onMissing();
    this.#isMissing = true;
  }

  #close(): void {
    this.#earlierErrors = this.decodeErrors;
    this.#decoder?.[Symbol.dispose]();
    this.#decoder = undefined;
    this.#frames?.[Symbol.dispose]();
    this.#frames = undefined;
    for (const photographer of this.#photographers) photographer[Symbol.dispose]();
    this.#photographers = [];
    for (const rung of this.#rungs) rung[Symbol.dispose]();
    this.#rungs = [];
    this.#active = [];
  }
}

/** The size of the largest rendition, or of the larger picture where only pictures are made. */
function largestSize(source: SourceDescription): Size {
  return source.renditions.toSorted((a, b) => areaOf(b) - areaOf(a))[0] ?? pictureSize('poster', source);
}
