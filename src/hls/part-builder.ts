/**
 * The part builder: collects the samples of one track and decides where a part ends (rfc8216bis §4.4.4.9).
 */
import {
  type FrameRate,
  recogniseFrameRate,
  resolutionS,
  TIMESTAMP_RESOLUTION_S,
  USUAL_FRAME_RATE,
} from '#media/frame-rate.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import { framesPerPart, longestPartMs, PART_LENGTH_S, PartPlan } from '#media/part-length.ts';
import { type Track, VIDEO_TIMESCALE } from '#media/track.ts';

/** A sample of a part. */
export interface PartSample extends FragmentSample {
  /** Whether it stands for media that is missing. */
  readonly isFilling: boolean;
}

/** Receives the samples of a complete part, in decoding order and without holes between them. */
export type TakePart = (samples: readonly PartSample[], durationTicks: number) => void;

/** The shortest part, as a fraction of the part target, unless an exception applies. */
const LEAST_PART = 0.85;
/**
 * By how much the part target exceeds the longest planned part. Shaka 5.2 expects an announced part to last as long as the part target. If
 * the segment then ends less than 1 ms earlier than expected, Shaka believes that it still grows. When the session has ended in the
 * meantime, no more parts are listed, and Shaka waits for ever.
 */
const MARGIN_MS = 2;
/**
 * The most samples and bytes of a part. Only the last sample may exceed the bytes. No encoder makes that much in a third of a second. The
 * limits bound the memory and work of a part for any timestamps.
 */
const MAX_SAMPLES = 500;
const MAX_BYTES = 8 * 1024 * 1024;
/** Timestamps that were rounded to milliseconds make a frame appear up to this much longer or shorter. */
const JITTER_S = 0.001;
/** The largest relative difference from the declared duration at which a single frame counts as such a frame, and not as a pause. */
const DECLARED_TOLERANCE = 0.1;

/** The complete parts of a segment. */
interface SegmentParts {
  readonly frames: number;
  readonly durationTicks: number;
  /** Whether some of them stand for media that is missing. */
  readonly hasFilling: boolean;
}

const EMPTY: SegmentParts = { frames: 0, durationTicks: 0, hasFilling: false };

/** The largest PART-TARGET, in seconds, of video at this frame rate whose frames come at regular times. */
export function largestPartTargetS(framesPerSecond: number): number {
  return (longestPartMs(framesPerPart(framesPerSecond), { framesPerSecond, exact: false }) + MARGIN_MS) / 1000;
}

/**
 * Makes parts of up to the longest duration, which is 2 ms below the part target. For audio it is known at once. For video it is measured over
 * the first part, and is constant from then on. When the first part is a single frame that is longer than declared, it is measured over the next
 * part: many sources pause after their first frame, and its duration would delay all viewers until the session ends.
 */
export class PartBuilder {
  readonly #take: TakePart;
  #track: Track;
  #samples: PartSample[] = [];
  #durationTicks = 0;
  #sizeBytes = 0;
  #frameTicks: number;
  /** The duration of the previous video frame. */
  #lastTicks: number | undefined;
  #longestMs: number | undefined;
  /** The duration of the first part, if it is a single frame and nothing is measured yet. */
  #loneTicks: number | undefined;
  /** The complete parts of the growing segment. */
  #segment = EMPTY;
  #plan = new PartPlan();

  constructor(track: Track, take: TakePart) {
    this.#track = track;
    this.#take = take;
    this.#frameTicks = frameTicksOf(track);
    if (track.kind === 'audio') {
      const rate = { framesPerSecond: track.timescale / track.samplesPerPacket, exact: true };
      this.#longestMs = longestPartMs(framesPerPart(rate.framesPerSecond), rate);
    }
  }

  /** The expected duration of the next frame: the shorter of the last two, because one may have been a pause. */
  get frameTicks(): number {
    return this.#frameTicks;
  }

  /** The first sample of the growing part. Undefined while it has none. */
  get first(): PartSample | undefined {
    return this.#samples[0];
  }

  /** PART-TARGET in seconds. Undefined until it is measured. */
  get partTargetS(): number | undefined {
    return this.#longestMs === undefined ? undefined : (this.#longestMs + MARGIN_MS) / 1000;
  }

  /** The longest part in ticks, rounded down. While it is unknown, the desired length. */
  get longestTicks(): number {
    return Math.floor((this.#longestMs ?? PART_LENGTH_S * 1000) * (this.#track.timescale / 1000));
  }

  /** How many ticks may still be added to the growing part. */
  get leftTicks(): number {
    return this.longestTicks - this.#durationTicks;
  }

  /**
   * The longest duration of the next frame in ticks: the rest of the growing part, or a part of its own when the growing one is long
   * enough.
   */
  get roomTicks(): number {
    return this.#isLongEnough() ? this.longestTicks : this.leftTicks;
  }

  /** Sets the configuration of the following samples. The growing part must have been finished. */
  setTrack(track: Track): void {
    this.#track = track;
    this.#frameTicks = frameTicksOf(track);
    this.#segment = EMPTY;
    this.#plan = new PartPlan();
  }

  /** Notes that a segment begins. The growing part must have been finished. */
  beginSegment(): void {
    const { frames, durationTicks, hasFilling } = this.#segment;
    this.#segment = EMPTY;
    if (frames === 0 || hasFilling) return;
    // PART-TARGET stays as it is when frames become shorter or longer than those that it was measured by.
    const fitting = Math.floor((this.longestTicks + JITTER_S * this.#track.timescale) / (durationTicks / frames));
    this.#plan.add(frames, Math.max(1, Math.min(fitting, framesPerPart(this.#rateOf(frames, durationTicks)))));
  }

  /** Adds a sample, and finishes the part before it or with it if necessary. */
  push(sample: PartSample): void {
    const { durationTicks } = sample;
    // A frame longer than the longest part becomes a part of its own with its true duration. A variable frame rate that breaks PART-TARGET
    // cannot be known in advance, and a false duration would separate audio and video.
    if (this.#durationTicks + durationTicks > this.longestTicks) this.finish();
    this.#samples.push(sample);
    this.#durationTicks += durationTicks;
    this.#sizeBytes += sample.data.byteLength;
    if (this.#track.kind === 'video') {
      this.#frameTicks = Math.min(durationTicks, this.#lastTicks ?? durationTicks);
      this.#lastTicks = durationTicks;
    }
    if (this.#isFull()) this.finish();
  }

  /** Ends the growing part as it is, if there is one. */
  finish(): void {
    const [samples, durationTicks] = [this.#samples, this.#durationTicks];
    if (samples.length === 0) return;
    if (this.#longestMs === undefined) this.#learn(samples.length, durationTicks);
    this.#samples = [];
    this.#durationTicks = 0;
    this.#sizeBytes = 0;
    this.#segment = withPart(this.#segment, samples, durationTicks);
    this.#take(samples, durationTicks);
  }

  /**
   * Fixes PART-TARGET by the declared or the usual frame rate if the only part so far is a single frame. It must be called when that frame
   * was so long because the source paused, or when no other part may come.
   */
  settle(): void {
    if (this.#longestMs !== undefined || this.#loneTicks === undefined || this.#track.kind === 'audio') return;
    this.#fix({ framesPerSecond: this.#declaredFrameRate ?? USUAL_FRAME_RATE, exact: true }, 0);
  }

  #learn(frames: number, durationTicks: number): void {
    if (frames > 1 || this.#isAsDeclared(durationTicks)) {
      this.#fix(this.#measure(durationTicks), durationTicks);
    } else if (this.#loneTicks === undefined) {
      this.#loneTicks = durationTicks;
    } else {
      const shorterTicks = Math.min(durationTicks, this.#loneTicks);
      this.#fix(this.#measure(shorterTicks), shorterTicks);
    }
  }

  /** Whether a frame lasts as long as the declared rate says, so that it was not a pause. */
  #isAsDeclared(frameTicks: number): boolean {
    const expected = this.#declaredFrameRate;
    return expected !== undefined && Math.abs((frameTicks / this.#track.timescale) * expected - 1) < DECLARED_TOLERANCE;
  }

  get #declaredFrameRate(): number | undefined {
    return this.#track.kind === 'video' ? this.#track.declaredFrameRate : undefined;
  }

  #fix(rate: FrameRate, partTicks: number): void {
    const partMs = (partTicks * 1000) / this.#track.timescale;
    this.#longestMs = Math.max(longestPartMs(framesPerPart(rate.framesPerSecond), rate), Math.ceil(partMs - 1e-6));
  }

  #isFull(): boolean {
    if (this.#samples.length >= MAX_SAMPLES || this.#sizeBytes >= MAX_BYTES) return true;
    if (this.#longestMs === undefined) {
      return this.#samples.length >= framesPerPart(this.#measure(this.#durationTicks).framesPerSecond);
    }
    if (!this.#isLongEnough()) return false;
    return this.#endsAsPlanned() || this.leftTicks < this.#frameTicks - JITTER_S * this.#track.timescale;
  }

  /** Whether the newest sample ends its part as planned. Plans are for media, not for what fills a gap. */
  #endsAsPlanned(): boolean {
    const { frames } = this.#segment;
    const end = this.#plan.endOf(frames) ?? Number.POSITIVE_INFINITY;
    return frames + this.#samples.length >= end && this.#samples.at(-1)?.isFilling === false;
  }

  /** The frame rate of a segment, as encoders measure it. */
  #rateOf(frames: number, durationTicks: number): number {
    const track = this.#track;
    if (track.kind === 'audio') return track.timescale / track.samplesPerPacket;
    const durationS = durationTicks / track.timescale;
    return recogniseFrameRate(frames, durationS, TIMESTAMP_RESOLUTION_S, this.#declaredFrameRate).framesPerSecond;
  }

  #isLongEnough(): boolean {
    const targetTicks = this.longestTicks + (MARGIN_MS * this.#track.timescale) / 1000;
    return this.#durationTicks >= LEAST_PART * targetTicks;
  }

  /** @param durationTicks the duration of the growing part's frames */
  #measure(durationTicks: number): FrameRate {
    const { timescale } = this.#track;
    // Session time begins at any fraction of a millisecond, but its steps are those of the publisher.
    const firstTicks = this.#samples[0]?.dts ?? 0;
    const steps = [durationTicks, ...this.#samples.map(({ dts }) => dts - firstTicks)];
    const unitS = resolutionS(steps, timescale);
    return recogniseFrameRate(this.#samples.length, durationTicks / timescale, unitS, this.#declaredFrameRate);
  }
}

function withPart(before: SegmentParts, samples: readonly PartSample[], durationTicks: number): SegmentParts {
  return {
    frames: before.frames + samples.length,
    durationTicks: before.durationTicks + durationTicks,
    hasFilling: before.hasFilling || samples.some(({ isFilling }) => isFilling),
  };
}

function frameTicksOf(track: Track): number {
  if (track.kind === 'audio') return track.samplesPerPacket;
  return Math.round(VIDEO_TIMESCALE / (track.declaredFrameRate ?? USUAL_FRAME_RATE));
}
