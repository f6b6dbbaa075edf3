/**
 * Bit rates of a rendition: as declared at first, measured once there is enough (rfc8216bis §4.1, §4.4.6.2).
 */
import type { Track } from '#media/track.ts';

/** Bit rates in bits per second, of whole segments with their container. */
export interface Bitrates {
  readonly peakBps: number;
  readonly averageBps: number;
}

/** What is known of a track's elementary stream before it was measured. */
export interface DeclaredBitrates {
  readonly averageBps: number | undefined;
  /** Its encoder keeps every run of segments below it. */
  readonly peakBps: number | undefined;
}

/** Media that must be measured before it outweighs what was declared. */
const MEASURED_S = 10;
/** A declared bit rate is an average of the elementary stream: what peaks and the container may add. */
const PEAK_HEADROOM = 1.3;
const CONTAINER_OVERHEAD = 1.05;
/** For want of a declaration: what encoders are commonly told. */
const VIDEO_BITS_PER_PIXEL = 0.1;
const AUDIO_BPS_PER_CHANNEL = 64_000;
const COMMON_FRAME_RATE = 30;

/** Measures the segments of one rendition. */
export class BitrateMeter {
  readonly #targetDurationS: number;
  /** The latest segments, for peaks over runs of them; no more than 1.5 target durations. */
  #recent: readonly { readonly bits: number; readonly durationS: number }[] = [];
  #bits = 0;
  #durationS = 0;
  #peakBps = 0;

  constructor(targetDurationS: number) {
    this.#targetDurationS = targetDurationS;
  }

  /** A segment is complete. */
  add(sizeBytes: number, durationS: number): void {
    const segment = { bits: sizeBytes * 8, durationS };
    this.#bits += segment.bits;
    this.#durationS += durationS;
    // §4.1: the peak is that of any run of segments of 0.5 to 1.5 target durations; runs ending before were seen before.
    const recent = [segment];
    let run = segment;
    this.#peakOf(run);
    for (const before of this.#recent) {
      run = { bits: run.bits + before.bits, durationS: run.durationS + before.durationS };
      if (run.durationS > 1.5 * this.#targetDurationS) break;
      recent.push(before);
      this.#peakOf(run);
    }
    this.#recent = recent;
  }

  /** What to announce now. */
  rates(track: Track, declared: DeclaredBitrates, framesPerSecond: number | undefined): Bitrates {
    const cap = Math.ceil((declared.peakBps ?? 0) * CONTAINER_OVERHEAD);
    if (this.#durationS >= MEASURED_S && this.#peakBps > 0) {
      const averageBps = Math.ceil(this.#bits / this.#durationS);
      return { peakBps: Math.max(averageBps, Math.ceil(this.#peakBps), cap), averageBps };
    }
    const declaredBps = declared.averageBps ?? guess(track, framesPerSecond ?? COMMON_FRAME_RATE);
    return {
      peakBps: Math.max(Math.ceil(declaredBps * PEAK_HEADROOM), cap),
      averageBps: Math.ceil(declaredBps * CONTAINER_OVERHEAD),
    };
  }

  #peakOf({ bits, durationS }: { bits: number; durationS: number }): void {
    if (durationS >= 0.5 * this.#targetDurationS) this.#peakBps = Math.max(this.#peakBps, bits / durationS);
  }
}

function guess(track: Track, framesPerSecond: number): number {
  return track.kind === 'audio'
    ? track.channels * AUDIO_BPS_PER_CHANNEL
    : track.width * track.height * framesPerSecond * VIDEO_BITS_PER_PIXEL;
}
