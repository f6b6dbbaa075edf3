/**
 * The part builder: gathers the samples of one track and decides where a part ends (rfc8216bis §4.4.4.9).
 */
import { type FrameRate, recogniseFrameRate, USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import { framesPerPart, PART_LENGTH_S, partTargetMs } from '#media/part-length.ts';
import { type Track, VIDEO_TIMESCALE } from '#media/track.ts';

/** Takes the samples of a part that is whole; in decoding order, without holes between them. */
export type TakePart = (samples: readonly FragmentSample[], durationTicks: number) => void;

/** Shortest part, as a share of the part target, unless an exception applies. */
const LEAST_PART = 0.85;
/**
 * The most samples and bytes of a part, which only its last sample may exceed in bytes. They are far more than any encoder makes in a
 * third of a second, and bound the memory and work of a part whatever the timestamps are.
 */
const MAX_SAMPLES = 500;
const MAX_BYTES = 8 * 1024 * 1024;
/** Timestamps that were rounded to milliseconds make a frame look up to this much longer or shorter. */
const JITTER_S = 0.001;

/**
 * Makes parts as long as the part target allows. For audio that target is known at once; for video it is measured over
 * the first part, and fixed from then on.
 */
export class PartBuilder {
  readonly #take: TakePart;
  #track: Track;
  #samples: FragmentSample[] = [];
  #durationTicks = 0;
  #sizeBytes = 0;
  #frameTicks: number;
  /** How long the video frame before lasted. */
  #lastTicks: number | undefined;
  #partTargetMs: number | undefined;
  #framesPerSecond: number | undefined;

  constructor(track: Track, take: TakePart) {
    this.#track = track;
    this.#take = take;
    this.#frameTicks = frameTicksOf(track);
    if (track.kind === 'audio') {
      const rate = { framesPerSecond: track.timescale / track.samplesPerPacket, exact: true };
      this.#partTargetMs = partTargetMs(framesPerPart(rate.framesPerSecond), rate);
    }
  }

  /** How long the next frame will probably last: of two in a row the shorter one counts, since one may have been a pause. */
  get frameTicks(): number {
    return this.#frameTicks;
  }

  /** The first sample of the growing part; undefined while it has none. */
  get first(): FragmentSample | undefined {
    return this.#samples[0];
  }

  /** PART-TARGET in seconds; undefined until the first part. */
  get partTargetS(): number | undefined {
    return this.#partTargetMs === undefined ? undefined : this.#partTargetMs / 1000;
  }

  /** The part target in ticks, rounded down; what is asked for while it is not known. */
  get targetTicks(): number {
    return Math.floor((this.#partTargetMs ?? PART_LENGTH_S * 1000) * (this.#track.timescale / 1000));
  }

  /** What the growing part lacks to the part target, in ticks. */
  get leftTicks(): number {
    return this.targetTicks - this.#durationTicks;
  }

  /** How long the next frame may last, in ticks: as the rest of the growing part, or as a part of its own where that one is long enough. */
  get roomTicks(): number {
    const { targetTicks } = this;
    return this.#durationTicks < LEAST_PART * targetTicks ? targetTicks - this.#durationTicks : targetTicks;
  }

  /** Measured over the first part; undefined before it and for audio. */
  get framesPerSecond(): number | undefined {
    return this.#framesPerSecond;
  }

  /** What follows is of another configuration. The growing part must have been finished. */
  setTrack(track: Track): void {
    this.#track = track;
    this.#frameTicks = frameTicksOf(track);
  }

  /** Adds a sample, finishing the part before it or with it as needed. */
  push(sample: FragmentSample): void {
    const { durationTicks } = sample;
    // A frame longer than the part target becomes a part of its own with its true duration: a variable frame rate that
    // breaks PART-TARGET cannot be told before, and a false duration would put audio and video apart.
    if (this.#durationTicks + durationTicks > this.targetTicks) this.finish();
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
    if (this.#partTargetMs === undefined) {
      const rate = this.#measure();
      const durationMs = (durationTicks * 1000) / this.#track.timescale;
      this.#framesPerSecond = rate.framesPerSecond;
      this.#partTargetMs = Math.max(
        partTargetMs(framesPerPart(rate.framesPerSecond), rate),
        Math.ceil(durationMs - 1e-6),
      );
    }
    this.#samples = [];
    this.#durationTicks = 0;
    this.#sizeBytes = 0;
    this.#take(samples, durationTicks);
  }

  #isFull(): boolean {
    if (this.#samples.length >= MAX_SAMPLES || this.#sizeBytes >= MAX_BYTES) return true;
    if (this.#partTargetMs === undefined) {
      return this.#samples.length >= framesPerPart(this.#measure().framesPerSecond);
    }
    const { targetTicks } = this;
    if (this.#durationTicks < LEAST_PART * targetTicks) return false;
    return targetTicks - this.#durationTicks < this.#frameTicks - JITTER_S * this.#track.timescale;
  }

  #measure(): FrameRate {
    const { timescale } = this.#track;
    const declared = this.#track.kind === 'video' ? this.#track.declaredFrameRate : undefined;
    const inMilliseconds = this.#samples.every(({ dts }) => dts % (timescale / 1000) === 0);
    const resolutionS = inMilliseconds ? JITTER_S : 1 / timescale;
    return recogniseFrameRate(this.#samples.length, this.#durationTicks / timescale, resolutionS, declared);
  }
}

function frameTicksOf(track: Track): number {
  if (track.kind === 'audio') return track.samplesPerPacket;
  return Math.round(VIDEO_TIMESCALE / (track.declaredFrameRate ?? USUAL_FRAME_RATE));
}
