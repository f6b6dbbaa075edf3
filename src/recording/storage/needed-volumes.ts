/**
 * Which volumes of a recording its clips show.
 */
import { volumeName } from '#recording/index-file.ts';
import type { RecordingIndex } from '#recording/recording-index.ts';

/** A time span of the media, in wall-clock milliseconds. */
export interface KeptSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The names of the volumes with any segment in one of the spans, or next to one: a clip begins with the keyframe before its first frame, and
 * the segments of renditions do not begin at exactly the same time.
 */
export function neededVolumes(index: RecordingIndex, spans: readonly KeptSpan[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { id, segments } of index.renditions) {
    for (const { fromMs, untilMs } of spans) {
      const first = Math.max(0, segments.indexAt(fromMs) - 1);
      for (let at = first; at < segments.count; at += 1) {
        const { volume, programDateTimeMs } = segments.at(at)!;
        names.add(volumeName(id, volume));
        if (programDateTimeMs >= untilMs) break;
      }
    }
  }
  return names;
}
