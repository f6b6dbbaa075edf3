/**
 * The bitrates of a rendition: first as declared, later as measured (rfc8216bis §4.1, §4.4.6.2).
 */
import { USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import type { Track } from '#media/track.ts';

/** Bitrates in bits per second, of whole segments with their container. */
export interface Bitrates {
  readonly peakBps: number;
  readonly averageBps: number;
}

/** What is known about the bitrate of a track's elementary stream before it is measured. */
export interface DeclaredBitrates {
  readonly averageBps: number | undefined;
  /** The limit that the encoder keeps for every run of segments. */
  readonly peakBps: number | undefined;
}

/** Seconds of media that must be measured before the measured bitrates replace the declared ones. */
const MEASURED_S = 10;
/** A declared bitrate is the average of the elementary stream. This factor allows for peaks and the container. */
const PEAK_HEADROOM = 1.3;
const CONTAINER_OVERHEAD = 1.05;
/** The estimate when nothing is declared, from the usual settings of encoders. */
const VIDEO_BITS_PER_PIXEL = 0.1;
const AUDIO_BPS_PER_CHANNEL = 64_000;

/** Measures the segments of one rendition. */
export class BitrateMeter {
  readonly #targetDurationS: number;
  /** The latest segments, for the peak over runs of them. They last at most 1.5 target durations. */
  #recent: readonly { readonly bits: number; readonly durationS: number }[] = [];
  #bits = 0;
  #durationS = 0;
  #peakBps = 0;

  constructor(targetDurationS: number) {
    this.#targetDurationS = targetDurationS;
  }

  /** Adds a complete segment. */
  add(sizeBytes: number, durationS: number): void {
    const segment = { bits: sizeBytes * 8, durationS };
    this.#bits += segment.bits;
    this.#durationS += durationS;
    // §4.1: the peak is that of any run of segments of 0.5 to 1.5 target durations. Only runs that end with this segment are new.
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

  /** The bitrates to announce now. @param framesPerSecond undefined while the frames have not shown it */
  rates(track: Track, declared: DeclaredBitrates, framesPerSecond: number | undefined): Bitrates {
    const cap = Math.ceil((declared.peakBps ?? 0) * CONTAINER_OVERHEAD);
    if (this.#durationS >= MEASURED_S && this.#peakBps > 0) {
      const averageBps = Math.ceil(this.#bits / this.#durationS);
      return { peakBps: Math.max(averageBps, Math.ceil(this.#peakBps), cap), averageBps };
    }
    const declaredBps = declared.averageBps ?? guess(track, framesPerSecond);
    return {
      peakBps: Math.max(Math.ceil(declaredBps * PEAK_HEADROOM), cap),
      averageBps: Math.ceil(declaredBps * CONTAINER_OVERHEAD),
    };
  }

  #peakOf({ bits, durationS }: { bits: number; durationS: number }): void {
    if (durationS >= 0.5 * this.#targetDurationS) this.#peakBps = Math.max(this.#peakBps, bits / durationS);
  }
}

function guess(track: Track, shownFps: number | undefined): number {
  if (track.kind === 'audio') return track.channels * AUDIO_BPS_PER_CHANNEL;
  // A declared rate may be far too low, and an estimate that is too low makes players begin with video that they cannot load in time.
  const framesPerSecond = shownFps ?? Math.max(USUAL_FRAME_RATE, track.declaredFrameRate ?? 0);
  return track.width * track.height * framesPerSecond * VIDEO_BITS_PER_PIXEL;
}
