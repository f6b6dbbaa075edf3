/**
 * The frame rate of a rendition, as people write it: 29.97 stands for 30000/1001.
 */
import type { Profile } from '../../shared/types.ts';

/** The denominators that are tried for a frame rate, in this order. The last one fits any frame rate to three decimals. */
const DENOMINATORS = [1, 2, 1001];

/** The frames per second, to three decimals; 0 stands for those of the source. */
export const framesPerSecond = ({ fps, fpsDen = 1 }: Pick<Profile, 'fps' | 'fpsDen'>): number =>
  Math.round((fps / fpsDen) * 1000) / 1000;

/** Returns the rendition with another frame rate. @param wanted frames per second; 0 stands for those of the source */
export function withFrameRate(profile: Profile, wanted: number): Profile {
  const { fpsDen: _, ...others } = profile;
  const fpsDen = DENOMINATORS.find((each) => Number.isInteger(wanted * each)) ?? 1001;
  return { ...others, fps: Math.round(wanted * fpsDen), ...(fpsDen > 1 && { fpsDen }) };
}
