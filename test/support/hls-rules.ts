/**
 * The rules of rfc8216bis and of Apple's authoring specification that a low-latency origin must keep, as functions over
 * playlists as a viewer gets them. Used on the packager's output in memory and on a running server over HTTP.
 */
import { type MediaPlaylist, type PlaylistSegment, readAttributes, readMediaPlaylist } from './hls-playlist.ts';

/** A rule that a playlist breaks. */
export interface Violation {
  /** The short name of the rule, which never changes, so that tests can refer to it. */
  readonly rule: string;
  /** Where, and what was found. */
  readonly found: string;
}

/** What a checker cannot learn from a media playlist alone. */
export interface MediaContext {
  /** The URIs, relative to this playlist, of the others of the presentation, for each of which it must have an EXT-X-RENDITION-REPORT. */
  readonly others?: readonly string[];
  /** Whether the frame rate varies, so that some parts are shorter than the rules demand. */
  readonly variableFrameRate?: boolean;
  /** Whether packets may have been lost, so that the parts of a segment may be shorter together than the segment. */
  readonly lossy?: boolean;
}

/** A media playlist at one moment, with the delta update served at the same moment if one was asked for. */
export interface Reload {
  readonly text: string;
  readonly delta?: string;
}

/** The uncertainty in a sum of parts, whose durations are printed with a limited number of digits. */
const ROUNDING_S = 0.0005;
/** PROGRAM-DATE-TIME has milliseconds. */
const DATE_ROUNDING_S = 0.0025;

const MEDIA_TAGS = [
  'EXTM3U',
  'EXT-X-VERSION',
  'EXT-X-TARGETDURATION',
  'EXT-X-SERVER-CONTROL',
  'EXT-X-PART-INF',
  'EXT-X-MEDIA-SEQUENCE',
  'EXT-X-DISCONTINUITY-SEQUENCE',
  'EXT-X-INDEPENDENT-SEGMENTS',
  'EXT-X-ENDLIST',
  'EXT-X-SKIP',
];
const REPEATED_TAGS = ['EXT-X-PRELOAD-HINT', 'EXT-X-RENDITION-REPORT'];

/** Checks the rules that one media playlist must keep by itself. */
export function checkMediaPlaylist(text: string, context: MediaContext = {}): readonly Violation[] {
  const playlist = readMediaPlaylist(text);
  const report = new Report();
  checkHeader(playlist, report);
  checkServerControl(playlist, report);
  for (const [index, segment] of playlist.segments.entries()) {
    checkSegment(playlist, segment, context, report);
    checkParts(playlist, segment, playlist.segments[index + 1], context, report);
  }
  checkTimes(playlist, context, report);
  checkNames(playlist, report);
  checkTail(playlist, context, report);
  return report.violations;
}

/** Checks how a media playlist changes from reload to reload. The history is in the order in which the playlists came. */
export function checkRendition(history: readonly Reload[]): readonly Violation[] {
  const report = new Report();
  const playlists = history.map(({ text }) => readMediaPlaylist(text));
  for (const [index, after] of playlists.entries()) {
    const before = playlists[index - 1];
    if (before !== undefined) checkReload(before, after, report);
    const delta = history[index]?.delta;
    if (delta !== undefined) checkDelta(before ?? after, after, readMediaPlaylist(delta), report);
  }
  return report.violations;
}

/**
 * Checks the rules that all media playlists of a presentation must keep together, as loaded at one moment.
 * @param options.stepS how far apart the ends of the playlists may be, one part target by default
 * @param options.after the same playlists, loaded once more after all of the first ones. Playlists that are loaded one by one show different
 *   moments, but by the second time each must be as far as all of the others were the first time.
 */
export function checkPresentation(
  texts: ReadonlyMap<string, string>,
  { stepS, after = texts }: { stepS?: number; after?: ReadonlyMap<string, string> } = {},
): readonly Violation[] {
  const report = new Report();
  const all = [...texts].map(([name, text]) => ({
    name,
    playlist: readMediaPlaylist(text),
    newer: readMediaPlaylist(after.get(name) ?? text),
  }));
  for (const { playlist: a } of all) {
    for (const { name, playlist, newer: b } of all) {
      if (a === playlist) continue;
      const step = stepS ?? Math.max(a.partTargetS ?? 0, b.partTargetS ?? 0);
      const behindS = (endOf(a) - endOf(b)) / 1000;
      report.unless(behindS <= step + DATE_ROUNDING_S, 'in-step', `${name}: it ends ${behindS} s behind another`);
      report.unless(!a.ended || b.ended, 'same-ended', `${name} has not ended`);
    }
  }
  const [first, ...others] = all;
  if (first === undefined) return [];
  const a = first.playlist;
  for (const { name, playlist: b } of others) {
    const same = (rule: string, x: Plain, y: Plain) => report.unless(x === y, rule, `${name}: ${x} and ${y}`);
    same('same-target-duration', a.targetDurationS, b.targetDurationS);
    same('same-server-control', a.tags.get('EXT-X-SERVER-CONTROL')?.[0], b.tags.get('EXT-X-SERVER-CONTROL')?.[0]);
    for (const segment of a.segments) {
      const other = b.segments.find(({ msn }) => msn === segment.msn);
      if (other === undefined) continue;
      same('matching-discontinuity-sequence', segment.discontinuityNumber, other.discontinuityNumber);
      same('matching-discontinuities', segment.discontinuity, other.discontinuity);
    }
  }
  return report.violations;
}

/** Checks the rules for a multivariant playlist (§4.4.6, Apple 9). */
export function checkMultivariant(text: string): readonly Violation[] {
  const report = new Report();
  const lines = text.split('\n').filter((line) => line !== '');
  report.unless(lines[0] === '#EXTM3U', 'extm3u-first', String(lines[0]));
  const groups = new Set<string>();
  for (const line of lines) {
    report.unless(!/^#EXT(INF|-X-(TARGETDURATION|PART|MEDIA-SEQUENCE))/.test(line), 'no-media-tags', line);
    if (!line.startsWith('#EXT-X-MEDIA:')) continue;
    const media = readAttributes(line.slice('#EXT-X-MEDIA:'.length));
    for (const name of ['TYPE', 'GROUP-ID', 'NAME', 'URI', 'CHANNELS']) {
      report.unless(media.get(name), 'media-attributes', `${name} is missing: ${line}`);
    }
    report.unless(isRelative(media.get('URI')), 'relative-uri', line);
    groups.add(media.get('GROUP-ID') ?? '');
  }
  let variants = 0;
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('#EXT-X-STREAM-INF:')) continue;
    variants += 1;
    checkVariant(line, lines[index + 1], groups, report);
  }
  report.unless(variants > 0, 'has-variants', 'none');
  return report.violations;
}

/** Applies a delta update to the copy a player has: the segments of the full playlist (§6.3.7). */
function applyDelta(copy: MediaPlaylist, delta: MediaPlaylist): readonly PlaylistSegment[] | undefined {
  const skipped = copy.segments.filter(
    ({ msn }) => msn >= delta.mediaSequence && msn < delta.mediaSequence + delta.skipped,
  );
  if (skipped.length !== delta.skipped) return undefined;
  const map = skipped.at(-1)?.map;
  const discontinuities = skipped.filter(({ discontinuity }) => discontinuity).length;
  // Segments that are older than the skip boundary have no parts.
  return [
    ...skipped.map((segment) => ({ ...segment, parts: [] })),
    ...delta.segments.map((segment) => ({
      ...segment,
      map: segment.map ?? map,
      discontinuityNumber: segment.discontinuityNumber + discontinuities,
    })),
  ];
}

function checkHeader(playlist: MediaPlaylist, report: Report): void {
  const { tags, lines, targetDurationS, segments, skipped } = playlist;
  report.unless(lines[0] === '#EXTM3U', 'extm3u-first', String(lines[0]));
  report.unless(lines.at(-1) === '', 'ends-with-newline', String(lines.at(-1)));
  for (const [name, values] of tags) {
    report.unless(MEDIA_TAGS.includes(name) || REPEATED_TAGS.includes(name), 'known-tags', name);
    report.unless(values.length === 1 || REPEATED_TAGS.includes(name), 'tag-once', name);
  }
  for (const name of MEDIA_TAGS.slice(0, 7)) report.unless(tags.has(name), 'tag-present', name);
  const version = Number(tags.get('EXT-X-VERSION')?.[0]);
  const skips = playlist.serverControl.has('CAN-SKIP-UNTIL');
  report.unless(version >= (skips ? 9 : 6), 'version-for-features', String(version));
  report.unless(Number.isInteger(targetDurationS), 'target-duration-whole', String(targetDurationS));
  report.unless(segments[0]?.map !== undefined || skipped > 0, 'map-before-media', 'the first segment has none');
  if (tags.has('EXT-X-INDEPENDENT-SEGMENTS')) {
    for (const { parts, msn } of segments) {
      const [part] = parts;
      report.unless(part === undefined || part.independent || part.gap, 'independent-segments', String(msn));
    }
  }
}

function checkServerControl(
  { serverControl, targetDurationS, partTargetS, ...playlist }: MediaPlaylist,
  report: Report,
) {
  const value = (name: string) => Number(serverControl.get(name) ?? Number.NaN);
  const atLeast = (name: string, least: number) =>
    report.unless(value(name) >= least - 1e-9, 'server-control-values', `${name}=${value(name)}, not ${least}`);
  report.unless(playlist.ended || serverControl.get('CAN-BLOCK-RELOAD') === 'YES', 'can-block-reload', 'is missing');
  atLeast('HOLD-BACK', 3 * targetDurationS);
  atLeast('CAN-SKIP-UNTIL', 6 * targetDurationS);
  atLeast('PART-HOLD-BACK', 3 * (partTargetS ?? Number.NaN));
}

function checkSegment(
  { targetDurationS }: MediaPlaylist,
  segment: PlaylistSegment,
  { lossy = false }: MediaContext,
  report: Report,
): void {
  const at = `segment ${segment.msn}`;
  report.unless(segment.misplaced.length === 0, 'tags-before-first-part', `${at}: ${segment.misplaced.join()}`);
  const date = segment.programDateTime ?? '';
  const written = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/.test(date);
  report.unless(written, 'program-date-time-everywhere', `${at}: '${date}'`);
  const gap = segment.parts.some((part) => part.gap);
  report.unless(segment.gap || !gap, 'gap-tag-with-gap-parts', at);
  if (segment.uri === undefined) return;
  const { durationS } = segment;
  report.unless(durationS > 0, 'extinf-present', at);
  report.unless(Math.round(durationS) <= targetDurationS, 'extinf-within-target', `${at}: ${durationS} s`);
  if (segment.parts.length > 0 && !segment.gap) {
    const sum = segment.parts.reduce((total, part) => total + part.durationS, 0);
    const missing = durationS - sum;
    const complete = missing >= -ROUNDING_S && (lossy || missing <= ROUNDING_S);
    report.unless(complete, 'parts-add-up', `${at}: ${sum} s of ${durationS} s`);
  }
}

function checkParts(
  { partTargetS = Number.NaN }: MediaPlaylist,
  { parts, msn, uri }: PlaylistSegment,
  next: PlaylistSegment | undefined,
  { variableFrameRate = false }: MediaContext,
  report: Report,
): void {
  for (const [index, part] of parts.entries()) {
    const at = `part ${msn}.${index}: ${part.durationS} s of ${partTargetS} s`;
    report.unless(part.durationS > 0, 'part-duration-present', at);
    if (variableFrameRate) continue;
    report.unless(part.durationS <= partTargetS + 1e-9, 'part-within-target', at);
    // The last part of a growing segment may still turn out to be the last one.
    const last = index === parts.length - 1;
    const excepted = part.independent || part.gap || last || parts[index + 1]?.gap;
    report.unless(excepted || part.durationS >= 0.85 * partTargetS - 1e-9, 'part-long-enough', at);
  }
  report.unless(uri !== undefined || next === undefined, 'growing-segment-last', String(msn));
}

function checkTimes(
  { segments, targetDurationS }: MediaPlaylist,
  { lossy = false }: MediaContext,
  report: Report,
): void {
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    if (next === undefined || next.discontinuity) continue;
    const apartS = (startOf(next) - startOf(segment)) / 1000;
    const found = `segment ${segment.msn}: ${apartS} s until the next, EXTINF ${segment.durationS}`;
    // When packets were lost, a segment that is as long as EXTINF may be can end before the next one begins.
    const full = lossy && apartS > segment.durationS && segment.durationS > targetDurationS + 0.48;
    const follow = Math.abs(apartS - segment.durationS) <= DATE_ROUNDING_S;
    report.unless(follow || full, 'dates-follow-durations', found);
  }
  let afterS = 0;
  for (const segment of [...segments].reverse()) {
    const near = afterS <= 3 * targetDurationS + 10 * ROUNDING_S;
    report.unless(near || segment.parts.length === 0, 'old-parts-leave', `segment ${segment.msn}`);
    afterS += durationOf(segment);
  }
}

function checkNames({ segments, hints }: MediaPlaylist, report: Report): void {
  const seen = new Set<string>();
  const take = (uri: string) => {
    report.unless(isRelative(uri), 'relative-uri', uri);
    report.unless(!seen.has(uri), 'unique-uris', uri);
    seen.add(uri);
  };
  for (const { uri, parts } of segments) {
    for (const part of parts) take(part.uri);
    if (uri !== undefined) take(uri);
  }
  for (const hint of hints) take(hint.get('URI') ?? '');
  for (const { map } of segments) {
    report.unless(map === undefined || isRelative(map), 'relative-uri', String(map));
    report.unless(map === undefined || !seen.has(map) || map !== segments.at(-1)?.map, 'hint-is-new', String(map));
  }
}

function checkTail({ hints, reports, ended, lines }: MediaPlaylist, { others }: MediaContext, report: Report): void {
  const types = hints.map((hint) => hint.get('TYPE'));
  report.unless(new Set(types).size === types.length, 'one-hint-per-type', types.join(','));
  if (ended) report.unless(hints.length === 0, 'no-hint-after-end', types.join(','));
  else report.unless(types.includes('PART'), 'part-hinted', types.join(','));
  const lastMedia = lines.findLastIndex((line) => /^(?!#|$)|^#EXT-X-PART:/.test(line));
  const tail = lines.findIndex((line) => /^#EXT-X-(ENDLIST|PRELOAD-HINT)/.test(line));
  report.unless(tail > lastMedia, 'hint-after-media', String(lines[lastMedia]));
  for (const each of reports) {
    report.unless(isRelative(each.get('URI')), 'relative-uri', String(each.get('URI')));
    report.unless(each.has('LAST-MSN'), 'rendition-report-values', String(each.get('URI')));
  }
  if (others === undefined) return;
  const [reported, expected] = [reports.map((each) => each.get('URI') ?? ''), others].map((uris) =>
    [...uris].sort().join(),
  );
  report.unless(reported === expected, 'report-on-every-other', `${reported} of ${expected}`);
}

function checkVariant(line: string, uri: string | undefined, groups: ReadonlySet<string>, report: Report): void {
  const variant = readAttributes(line.slice('#EXT-X-STREAM-INF:'.length));
  report.unless(isRelative(uri) && !uri?.startsWith('#'), 'relative-uri', String(uri));
  for (const name of ['BANDWIDTH', 'AVERAGE-BANDWIDTH']) {
    report.unless(/^[1-9]\d*$/.test(variant.get(name) ?? ''), 'variant-bandwidth', line);
  }
  const [peak, average] = [Number(variant.get('BANDWIDTH')), Number(variant.get('AVERAGE-BANDWIDTH'))];
  report.unless(peak >= average, 'variant-bandwidth', line);
  const codecs = variant.get('CODECS') ?? '';
  report.unless(/^[a-z0-9.]+(,[a-z0-9.]+)*$/i.test(codecs), 'variant-codecs', line);
  if (/avc1|avc3|hvc1|av01/.test(codecs)) {
    report.unless(/^\d+x\d+$/.test(variant.get('RESOLUTION') ?? ''), 'variant-resolution', line);
    // The attribute is left out while the frame rate is not known.
    report.unless(/^\d+\.\d{3}$/.test(variant.get('FRAME-RATE') ?? '0.000'), 'variant-frame-rate', line);
  }
  const audio = variant.get('AUDIO');
  report.unless(audio === undefined || groups.has(audio), 'audio-group-exists', line);
}

function checkReload(before: MediaPlaylist, after: MediaPlaylist, report: Report): void {
  const same = (rule: string, x: Plain, y: Plain) => report.unless(x === y, rule, `${x} became ${y}`);
  same('constant-target-duration', before.targetDurationS, after.targetDurationS);
  same('constant-part-target', before.partTargetS, after.partTargetS);
  same('constant-server-control', value(before, 'EXT-X-SERVER-CONTROL'), value(after, 'EXT-X-SERVER-CONTROL'));
  same('constant-version', value(before, 'EXT-X-VERSION'), value(after, 'EXT-X-VERSION'));
  const forward = before.mediaSequence <= after.mediaSequence && reaches(before) <= reaches(after);
  report.unless(forward, 'msn-never-goes-back', `${before.mediaSequence} became ${after.mediaSequence}`);
  if (before.ended) same('nothing-after-end', before.lines.join('\n'), after.lines.join('\n'));

  if (after.mediaSequence > before.mediaSequence) {
    const listed = after.segments.filter(({ uri }) => uri !== undefined);
    const totalS = after.segments.reduce((sum, segment) => sum + durationOf(segment), 0);
    report.unless(listed.length >= 6, 'six-segments-listed', String(listed.length));
    report.unless(totalS >= 3 * after.targetDurationS, 'three-target-durations-listed', `${totalS} s`);
  }
  for (const old of before.segments) {
    const now = after.segments.find(({ msn }) => msn === old.msn);
    if (now === undefined) {
      const gone = old.msn < after.mediaSequence;
      report.unless(gone, 'segment-lost', `segment ${old.msn}`);
      continue;
    }
    checkUnchanged(old, now, report);
  }
  checkHints(before, after, report);
}

function checkUnchanged(old: PlaylistSegment, now: PlaylistSegment, report: Report): void {
  const at = `segment ${old.msn}`;
  for (const key of ['discontinuity', 'discontinuityNumber', 'programDateTime', 'map'] as const) {
    report.unless(old[key] === now[key], 'segment-unchanged', `${at}: ${key} ${old[key]} became ${now[key]}`);
  }
  if (old.uri !== undefined) {
    for (const key of ['uri', 'durationS', 'gap'] as const) {
      report.unless(old[key] === now[key], 'segment-unchanged', `${at}: ${key} ${old[key]} became ${now[key]}`);
    }
  }
  if (now.parts.length === 0 && now.uri !== undefined) return;
  report.unless(old.parts.length <= now.parts.length, 'part-lost', at);
  for (const [index, part] of old.parts.entries()) {
    const [x, y] = [JSON.stringify(part), JSON.stringify(now.parts[index])];
    report.unless(x === y, 'part-unchanged', `${at}: ${x} became ${y}`);
  }
}

/** §4.4.5.3: what was hinted must be what came next. */
function checkHints(before: MediaPlaylist, after: MediaPlaylist, report: Report): void {
  const hint = (type: string) => before.hints.find((each) => each.get('TYPE') === type)?.get('URI');
  const known = new Set(before.segments.flatMap(({ parts }) => parts.map(({ uri }) => uri)));
  const lastMsn = before.segments.at(-1)?.msn ?? 0;
  const recent = after.segments.filter(({ msn }) => msn >= lastMsn);
  const next = recent.flatMap(({ parts }) => parts).find(({ uri }) => !known.has(uri));
  // The playlist is so much later that the tag of the hinted part is gone, so there is nothing to compare.
  const comparable = recent[0]?.msn === lastMsn && recent.every(({ parts }) => parts.length > 0);
  if (next !== undefined && comparable) {
    report.unless(next.uri === hint('PART'), 'hint-comes-true', `hinted ${hint('PART')}, came ${next.uri}`);
  }
  const map = recent.find((segment) => segment.map !== before.segments.at(-1)?.map)?.map;
  const hintedMap = hint('MAP');
  if (map !== undefined && hintedMap !== undefined) {
    report.unless(map === hintedMap, 'hint-comes-true', `hinted ${hintedMap}, came ${map}`);
  }
}

/** §6.2.5.1: skips only what is older than the skip boundary, and makes the full playlist of an older copy. */
function checkDelta(copy: MediaPlaylist, full: MediaPlaylist, delta: MediaPlaylist, report: Report): void {
  for (const name of MEDIA_TAGS.filter((tag) => tag !== 'EXT-X-SKIP')) {
    report.unless(value(full, name) === value(delta, name), 'delta-same-header', name);
  }
  if (delta.skipped === 0) {
    report.unless(delta.lines.join() === full.lines.join(), 'delta-or-full', 'neither a delta update nor the playlist');
    return;
  }
  report.unless(!full.ended, 'no-delta-after-end', `${delta.skipped} skipped`);
  const boundaryS = Number(full.serverControl.get('CAN-SKIP-UNTIL'));
  const keptS = delta.segments.reduce((sum, segment) => sum + durationOf(segment), 0);
  report.unless(keptS >= boundaryS - ROUNDING_S, 'skip-boundary', `only ${keptS} s kept`);
  const merged = applyDelta(copy.mediaSequence <= full.mediaSequence ? copy : full, delta);
  const plain = (segments: readonly PlaylistSegment[] | undefined) => JSON.stringify(segments);
  const expected = full.segments.map((segment, index) => (index < delta.skipped ? { ...segment, parts: [] } : segment));
  report.unless(plain(merged) === plain(expected), 'delta-makes-full', `${delta.skipped} skipped`);
}

type Plain = string | number | boolean | undefined;

class Report {
  readonly violations: Violation[] = [];

  unless(kept: unknown, rule: string, found: string): void {
    if (!kept) this.violations.push({ rule, found });
  }
}

const value = (playlist: MediaPlaylist, name: string): string | undefined => playlist.tags.get(name)?.[0];

const isRelative = (uri = ':'): boolean => !/^([a-z][a-z0-9+.-]*:|\/)/i.test(uri);

const startOf = (segment: PlaylistSegment): number => Date.parse(segment.programDateTime ?? '');

const durationOf = ({ uri, durationS, parts }: PlaylistSegment): number =>
  uri === undefined ? parts.reduce((sum, part) => sum + part.durationS, 0) : durationS;

/** Wall-clock end in milliseconds. */
function endOf({ segments }: MediaPlaylist): number {
  const last = segments.at(-1);
  return last === undefined ? Number.NaN : startOf(last) + durationOf(last) * 1000;
}

/** A position that grows with every segment and part that a playlist lists. */
function reaches({ segments }: MediaPlaylist): number {
  const last = segments.at(-1);
  if (last === undefined) return 0;
  return last.uri === undefined ? last.msn - 1 + last.parts.length / 1000 : last.msn;
}
