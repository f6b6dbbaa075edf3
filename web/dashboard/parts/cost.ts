/**
 * Estimates the cost of a ladder, so that choices can be compared before they are saved.
 */
import type { Profile } from '../../shared/types.ts';

/** Cores that encode one million pixels a second: x264 at the server's default preset, as the bench of live ladders measured it. */
const CORES_PER_MPIXEL = 1 / 38;
/** Cores that decode one million pixels a second of the source. */
const DECODE_CORES_PER_MPIXEL = 1 / 220;
/** The frame rate of a profile that follows the source. */
const USUAL_FPS = 30;
/** The frame of the source, as long as it is not known. */
const USUAL_SOURCE = { width: 1920, height: 1080, fps: USUAL_FPS };

/** The cost of a ladder. */
export interface Cost {
  /** The approximate number of cores of the server that it keeps busy. */
  readonly cores: number;
  /** The bitrate of all transcoded renditions together, in bits per second. */
  readonly bitrateBps: number;
}

/** Estimates the cost while the stream is live. Profiles larger than the source are left out by the server, and cost nothing. */
export function costOf(
  profiles: readonly Pick<Profile, 'width' | 'height' | 'fps' | 'fpsDen' | 'bitrate'>[],
  source: { readonly width: number; readonly height: number; readonly fps?: number | undefined } = USUAL_SOURCE,
): Cost {
  const sourceFps = source.fps ?? USUAL_FPS;
  const made = profiles.filter(({ width, height }) => width * height <= source.width * source.height);
  const pixels = made.reduce((sum, { width, height, fps, fpsDen = 1 }) => {
    const rate = fps === 0 ? sourceFps : Math.min(fps / fpsDen, sourceFps);
    return sum + width * height * rate;
  }, 0);
  const decoded = made.length === 0 ? 0 : source.width * source.height * sourceFps;
  return {
    cores: (pixels * CORES_PER_MPIXEL + decoded * DECODE_CORES_PER_MPIXEL) / 1e6,
    bitrateBps: made.reduce((sum, { bitrate }) => sum + bitrate, 0),
  };
}
