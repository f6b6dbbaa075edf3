/**
 * Finds the volumes of a deleted recording that its clips do not need.
 */
import { volumeName } from '#recording/index-file.ts';
import type { RecordingIndex } from '#recording/recording-index.ts';

/** A span of the media whose volumes are kept, in milliseconds of wall-clock time. */
export interface KeptSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The names of the volumes that have no segment in one of the spans or next to one. The segments next to a span are needed, because a clip
 * begins with the keyframe before its first frame, and the segments of renditions do not begin at exactly the same time. A volume that the
 * index does not describe is not among them: of a recording that is still being uploaded, the bucket has volumes before their index.
 */
export function unneededVolumes(index: RecordingIndex, spans: readonly KeptSpan[]): ReadonlySet<string> {
  const all = new Set<string>();
  const needed = new Set<string>();
  for (const { id, segments } of index.renditions) {
    for (const volume of new Set(segments.columns.volumes.subarray(0, segments.count))) all.add(volumeName(id, volume));
    for (const { fromMs, untilMs } of spans) {
      const first = Math.max(0, segments.indexAt(fromMs) - 1);
      for (let at = first; at < segments.count; at += 1) {
        const { volume, programDateTimeMs } = segments.at(at)!;
        needed.add(volumeName(id, volume));
        if (programDateTimeMs >= untilMs) break;
      }
    }
  }
  return all.difference(needed);
}
