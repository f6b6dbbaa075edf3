/**
 * Finds the volumes of a recording that its clips need.
 */
import { volumeName } from '#recording/index-file.ts';
import type { RecordingIndex } from '#recording/recording-index.ts';

/** A span of the media whose volumes are kept, in milliseconds of wall-clock time. */
export interface KeptSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The names of the volumes that have a segment in one of the spans or next to one. The segments next to a span are needed, because a clip
 * begins with the keyframe before its first frame, and the segments of renditions do not begin at exactly the same time.
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
