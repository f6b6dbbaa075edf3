/**
 * Checks playlists of recordings against the rules of HLS (rfc8216bis).
 */
import { type MediaPlaylist, readMediaPlaylist } from './hls-playlist.ts';

/** Every version of a rendition's playlist in the order in which it was loaded, each with the delta update of the same moment. */
export type RecordedHistory = ReadonlyMap<string, readonly { readonly text: string; readonly delta: string }[]>;

/** Dates are whole milliseconds, and durations are cut to 10 µs. */
const ROUNDING_MS = 2;

/** Returns a sentence for each rule that is broken. */
export function recordedViolations(history: RecordedHistory, targetDurationS: number): readonly string[] {
  const found: string[] = [];
  for (const [rendition, seen] of history) {
    const unless = (isKept: boolean, rule: string) => {
      if (!isKept) found.push(`${rendition}: ${rule}`);
    };
    for (const [index, { text, delta }] of seen.entries()) {
      const playlist = readMediaPlaylist(text);
      checkOne(playlist, targetDurationS, unless);
      checkDelta(playlist, readMediaPlaylist(delta), unless);
      const before = seen[index - 1];
      // §6.2.1: an EVENT playlist is only appended to.
      if (before !== undefined)
        unless(bodyOf(text).startsWith(bodyOf(before.text)), `version ${index} changes the one before`);
    }
  }
  checkTogether(history, found);
  return [...new Set(found)];
}

type Unless = (isKept: boolean, rule: string) => void;

function checkOne(playlist: MediaPlaylist, targetDurationS: number, unless: Unless): void {
  const { tags, segments, ended } = playlist;
  unless(playlist.lines[0] === '#EXTM3U', 'does not begin with EXTM3U');
  unless(tags.get('EXT-X-PLAYLIST-TYPE')?.join() === 'EVENT', 'is not an EVENT playlist');
  unless(playlist.targetDurationS === targetDurationS, 'has another target duration');
  unless(Number(tags.get('EXT-X-VERSION')?.[0]) >= 9, 'skips without version 9');
  unless(
    ended || Number(playlist.serverControl.get('CAN-SKIP-UNTIL')) >= 6 * targetDurationS,
    'skips too much (§4.4.3.8)',
  );
  unless(segments.length > 0, 'lists nothing');
  unless(
    segments.every(({ map, gap }) => gap || map !== undefined),
    'lists media without a map',
  );
  unless(segments[0]?.gap === true || segments[0]?.programDateTime !== undefined, 'does not date its first segment');
  for (const [index, segment] of segments.entries()) {
    const at = `segment ${segment.msn}`;
    unless(Math.round(segment.durationS) <= targetDurationS, `${at} is too long (§4.4.3.1)`);
    unless(segment.gap || !segment.discontinuity || segment.programDateTime !== undefined, `${at} has no date`);
    unless(segment.msn === playlist.mediaSequence + index, `${at} is not the next one`);
  }
  checkDates(playlist, unless);
}

/** The date of a segment is that of the previous one plus its duration, unless there is a discontinuity. */
function checkDates({ segments }: MediaPlaylist, unless: Unless): void {
  let expectedMs: number | undefined;
  for (const { msn, discontinuity, durationS, programDateTime } of segments) {
    if (discontinuity) expectedMs = undefined;
    if (programDateTime !== undefined) {
      const atMs = Date.parse(programDateTime);
      if (expectedMs !== undefined) {
        const apartMs = Math.abs(atMs - expectedMs);
        unless(apartMs <= ROUNDING_MS, `segment ${msn} is ${apartMs} ms from where durations lead`);
      }
      expectedMs = atMs;
    }
    if (expectedMs !== undefined) expectedMs += durationS * 1000;
  }
}

/** §6.2.5.1: a delta update leaves out segments further from the end than the skip boundary, and nothing else. */
function checkDelta(full: MediaPlaylist, delta: MediaPlaylist, unless: Unless): void {
  unless(delta.mediaSequence === full.mediaSequence, 'the delta update has another media sequence');
  unless(delta.skipped + delta.segments.length === full.segments.length, 'the delta update has another end');
  const left = full.segments.slice(delta.skipped);
  unless(
    left.every(
      ({ uri, durationS }, index) =>
        delta.segments[index]?.uri === uri && delta.segments[index]?.durationS === durationS,
    ),
    'the delta update has other segments',
  );
  const leftS = left.reduce((sum, { durationS }) => sum + durationS, 0);
  unless(delta.skipped === 0 || leftS > Number(full.serverControl.get('CAN-SKIP-UNTIL')), 'too much is skipped');
}

/** §6.2.4: the same segment has the same discontinuity sequence and length in all renditions. */
function checkTogether(history: RecordedHistory, found: string[]): void {
  const known = new Map<number, { discontinuityNumber: number; durationS: number }>();
  for (const [rendition, seen] of history) {
    const last = seen.at(-1);
    if (last === undefined) continue;
    for (const { msn, discontinuityNumber, durationS } of readMediaPlaylist(last.text).segments) {
      const other = known.get(msn);
      if (other === undefined) known.set(msn, { discontinuityNumber, durationS });
      else if (other.discontinuityNumber !== discontinuityNumber)
        found.push(`${rendition}: segment ${msn} has another discontinuity sequence`);
    }
  }
}

/** All lines from the first segment on, without EXT-X-ENDLIST. */
function bodyOf(text: string): string {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => /^#EXT(INF|-X-(MAP|GAP|DISCONTINUITY$|PROGRAM))/.test(line));
  return lines.slice(from).join('\n').replace('#EXT-X-ENDLIST\n', '');
}
