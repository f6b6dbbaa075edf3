/**
 * The whole of a transcoder's work, packets in and pictures out: one decoder, its rungs and the thumbnails.
 */
import type { Frame } from 'node-av/lib';
import { FrameRhythm } from '#media/frame-rhythm.ts';
import type { Packet } from '#media/packet.ts';
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { HeldEvent } from '#media/session-event.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { ENCODERS } from '#transcode/encoders.ts';
import { type SegmentStart, withEvent } from '#transcode/segment-start.ts';
import type { Job, SourceDescription } from '#transcode/worker-messages.ts';
import { Rung, type RungPicture } from './rung.ts';
import { Thumbnailer } from './thumbnailer.ts';
import { VideoDecoder } from './video-decoder.ts';

/** Cuts the decoder may hold for reordering; H.264 reorders 16 frames at most. */
const MAX_CUTS = 32;

/** In ticks; a picture that lasts longer, though none was held, is not repeated. Longer than any encoder keeps to itself what it has. */
const LONGEST_PAUSE = 15 * VIDEO_TIMESCALE;

/** Where a ladder's results go. Renditions are named by their place in the source's list. */
export interface LadderOutput {
  onConfig(rendition: number, config: Uint8Array): void;
  onPicture(rendition: number, picture: RungPicture): void;
  /** Frames were lost: no rendition goes on before the next segment. */
  onMissing(): void;
  onThumbnail(jpeg: Uint8Array): void;
}

/** A packet as it comes to a ladder. */
export interface LadderPacket {
  readonly packet: Packet;
  /** Packets before this one, which is a keyframe, were dropped. */
  readonly afterGap: boolean;
}

/** The ladder of one source at a time. Everything happens inside the calls. */
export class Ladder implements Disposable {
  readonly #job: Job;
  readonly #output: LadderOutput;
  #decoder: VideoDecoder | undefined;
  #thumbnailer: Thumbnailer | undefined;
  /** By the place in the source's list. */
  #rungs: readonly Rung[] = [];
  /** Largest first, those switched off left out. */
  #active: readonly Rung[] = [];
  /** Of segments whose first picture has not come out of the decoder yet. */
  #cuts: readonly SegmentStart[] = [];
  /** The last frame is held. */
  #isHolding = false;
  /** Frames were lost, and no segment has begun since. */
  #isMissing = false;
  /** Of the latest picture, a repeated one too, since something was missing. */
  #shownPts = Number.NEGATIVE_INFINITY;
  #earlierErrors = 0;

  constructor(job: Job, output: LadderOutput) {
    this.#job = job;
    this.#output = output;
  }

  /** Packets that could not be decoded. */
  get decodeErrors(): number {
    return this.#earlierErrors + (this.#decoder?.errors ?? 0);
  }

  /**
   * The source begins, or goes on in another way; what is still held of the one before is lost.
   * @throws {FFmpegError} when it cannot be decoded at all
   */
  setSource(source: SourceDescription): void {
    this.#close();
    this.#isMissing = false;
    const rhythm = new FrameRhythm(source.framesPerSecond);
    this.#decoder = new VideoDecoder(source, (frame, before) => this.#onDecoded(frame, before, rhythm));
    if (this.#job.thumbnails) this.#thumbnailer = new Thumbnailer(source, (jpeg) => this.#output.onThumbnail(jpeg));
    this.#rungs = source.renditions.map((plan, index) => {
      const limit = plan.frameRate === undefined ? Number.POSITIVE_INFINITY : plan.frameRate.num / plan.frameRate.den;
      return new Rung({
        plan,
        encoder: ENCODERS[0],
        settings: { ...this.#job, framesPerSecond: Math.min(limit, source.framesPerSecond) },
        onConfig: (config) => this.#output.onConfig(index, config),
        onPicture: (picture) => this.#output.onPicture(index, picture),
      });
    });
    this.setActive(this.#rungs.map((_, index) => index));
  }

  /** Makes only these renditions; one that comes back begins at the next cut. */
  setActive(renditions: readonly number[]): void {
    const active = this.#rungs.filter((_, index) => renditions.includes(index));
    for (const rung of this.#rungs) if (!active.includes(rung)) rung.stop();
    this.#active = active.toSorted((a, b) => b.plan.width * b.plan.height - a.plan.width * a.plan.height);
  }

  /** The next packet in decoding order. */
  write({ packet, afterGap }: LadderPacket): void {
    if (this.#decoder === undefined) return;
    if (afterGap) {
      this.#decoder.skip();
      this.#interrupt();
    }
    // What went before a discontinuity must not wait for what comes after it.
    if (packet.mark?.discontinuity) this.finish();
    if (this.#active.length === 0) {
      // Only thumbnails are made: keyframes do, each drawn out of the decoder at once.
      if (packet.keyframe && this.#decoder.decode(packet)) this.#decoder.skip();
      return;
    }
    this.#cuts = withEvent(this.#cuts, { type: 'packet', packet }, MAX_CUTS);
    if (this.#decoder.decode(packet)) this.#isHolding = false;
    else this.#interrupt();
  }

  /** No frame came: the last one is shown again. A player can begin where it is held first. */
  hold(event: HeldEvent): void {
    if (this.#decoder === undefined || this.#active.length === 0) return;
    this.#cuts = withEvent(this.#cuts, event, MAX_CUTS);
    const { shown } = this.#decoder;
    if (shown === undefined) return;
    if (!this.#isHolding) for (const rung of this.#rungs) rung.refresh();
    this.#isHolding = true;
    this.#show(shown, event.pts, true);
  }

  /** Nothing follows for now: everything held is encoded. Goes on at the next keyframe and cut. */
  finish(): void {
    this.#decoder?.skip();
    for (const rung of this.#rungs) rung.finish();
    this.#shownPts = Number.NEGATIVE_INFINITY;
    this.#cuts = [];
  }

  [Symbol.dispose](): void {
    this.#close();
  }

  /** Between two pictures further apart than a part is long, and than usual, the first is shown again: a part has to have one. */
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
    while (this.#cuts.length > 0 && this.#cuts[0]!.lastPts < pts) {
      // The picture a segment should begin with did not come out: wait for the next one.
      this.#cuts = this.#cuts.slice(1);
      this.#loseFrames();
    }
    const cut = this.#cuts.length > 0 && this.#cuts[0]!.firstPts <= pts;
    if (cut) {
      this.#cuts = this.#cuts.slice(1);
      this.#isMissing = false;
    }
    // Each rung from the next larger picture there is: scaling costs by the pixels read.
    const pictures: [Frame, ...Frame[]] = [frame];
    for (const rung of this.#active) {
      const made = rung.offer(pictures.at(-1)!, { pts, cut, repeated });
      if (made !== undefined) pictures.push(made);
    }
    this.#thumbnailer?.offer(pictures, pts);
  }

  #interrupt(): void {
    this.#shownPts = Number.NEGATIVE_INFINITY;
    this.#cuts = [];
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
    this.#thumbnailer?.[Symbol.dispose]();
    this.#thumbnailer = undefined;
    for (const rung of this.#rungs) rung[Symbol.dispose]();
    this.#rungs = [];
    this.#active = [];
  }
}
