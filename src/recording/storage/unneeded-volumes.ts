/**
 * Finds the volumes of a deleted recording that its clips do not need.
 */
import { ms } from '#lib/units.ts';
import { volumeName } from '#recording/index-file.ts';
import { movieSpan } from '#recording/needed-segments.ts';
import type { RecordedRendition, RecordingIndex } from '#recording/recording-index.ts';

/** A span of the media whose volumes are kept, in milliseconds of wall-clock time. */
export interface KeptSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The names of the volumes without any segment that one of the spans needs. A span also needs the segment after it, because the segments of
 * different renditions do not begin at exactly the same time. A volume that the index does not describe is never named: while a recording
 * is being uploaded, the bucket has volumes before their index.
 */
export function unneededVolumes(index: RecordingIndex, spans: readonly KeptSpan[]): ReadonlySet<string> {
  const all = new Set<string>();
  const needed = new Set<string>();
  for (const rendition of index.renditions) {
    const { id, segments } = rendition;
    for (const volume of new Set(segments.columns.volumes.subarray(0, segments.count))) all.add(volumeName(id, volume));
    for (const { fromMs, untilMs } of spans) {
      for (let at = segments.indexFrom(firstNeeded(index, rendition, fromMs)); at < segments.count; at += 1) {
        const { volume, programDateTimeMs } = segments.at(at)!;
        needed.add(volumeName(id, volume));
        if (programDateTimeMs >= untilMs) break;
      }
    }
  }
  return all.difference(needed);
}

/**
 * The number of the first segment of a rendition that a span needs. An MP4 of the rendition begins at a keyframe of the rendition itself,
 * and playlists begin at a keyframe of the leading rendition, so the earlier one of both decides. The playlists begin nowhere before an MP4
 * of the leading rendition, so the rule of MP4s covers them.
 */
function firstNeeded({ leader }: RecordingIndex, rendition: RecordedRendition, fromMs: number): number {
  const firsts = [rendition, leader ?? rendition].map((each) => movieSpan(each, { fromMs: ms(fromMs) })?.first);
  return Math.min(...firsts.map((number) => number ?? Infinity));
}
