/**
 * A budget of bytes shared by every presentation of the process.
 */
import type { MediaMemory } from './hls.ts';

/** A budget of `limitBytes`, nothing of it taken. */
export function createMediaMemory(limitBytes: number): MediaMemory {
  let usedBytes = 0;
  return {
    limitBytes,
    get usedBytes() {
      return usedBytes;
    },
    take(sizeBytes) {
      if (usedBytes + sizeBytes > limitBytes) return false;
      usedBytes += sizeBytes;
      return true;
    },
    give(sizeBytes) {
      usedBytes -= sizeBytes;
    },
  };
}
