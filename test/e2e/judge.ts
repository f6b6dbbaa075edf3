/**
 * Judges everything that a viewer got during a live run, with the rule checker, two playlist parsers, mp4box and FFmpeg.
 */
import assert from 'node:assert/strict';
import * as hlsParser from 'hls-parser';
import { Parser } from 'm3u8-parser';
import { type Decoded, decode } from '../support/decode.ts';
import { type Attributes, type PlaylistSegment, readAttributes, readMediaPlaylist } from '../support/hls-playlist.ts';
import {
  checkMediaPlaylist,
  checkMultivariant,
  checkPresentation,
  checkRendition,
  type Violation,
} from '../support/hls-rules.ts';
import { type ReadTrack, readTrack } from '../support/iso-bmff.ts';
import type { Viewing, Watched } from './viewer.ts';

// The only complaint of this parser is about parts of more than three segments: it counts segments where the rule counts seconds.
hlsParser.setOptions({ silent: true });

/** The error of PROGRAM-DATE-TIME, which is rounded to milliseconds twice. */
const DATE_ROUNDING_MS = 1.01;
/** Durations in playlists have five digits after the decimal point. */
const DURATION_ROUNDING_S = 0.00002;

/** A media resource, and what the playlist said about it. */
interface Piece {
  readonly uri: string;
  readonly durationS: number;
  readonly bytes: Buffer;
}

/** A segment as playlists listed it, complete, with all the parts they ever listed for it. */
interface SeenSegment extends PlaylistSegment {
  readonly uri: string;
}

/** Asserts that everything that a playlist listed could be loaded. Only a part that was merely hinted may be missing. */
export function assertLoaded({ renditions, failures }: Watched): void {
  const listed = [...renditions].flatMap(([uri, { reloads }]) =>
    reloads.flatMap(({ text }) => readMediaPlaylist(text).segments.flatMap((each) => mediaUris(uri, each))),
  );
  const wasListed = (failure: string) => listed.some((uri) => failure.includes(`/${uri}:`));
  assert.deepEqual(
    failures.filter((failure) => !failure.startsWith('404 ') || /\.m3u8/.test(failure) || wasListed(failure)),
    [],
  );
}

/** Relative to the multivariant playlist, without those of gaps. */
function mediaUris(playlistUri: string, { map, uri, gap, parts }: PlaylistSegment): readonly string[] {
  const uris = [map, gap ? undefined : uri, ...parts.map((part) => (part.gap ? undefined : part.uri))];
  return uris.flatMap((each) => (each === undefined ? [] : playlistUri.replace(/[^/]*$/, each)));
}

/**
 * Asserts that no playlist breaks a rule.
 * @param options.stepS how far apart the ends of renditions may be, one part target by default
 * @param options.unsteady names of renditions whose frame rate varies, so that no part target fits
 */
export function assertRules(
  watched: Watched,
  { unsteady = [], ...options }: { readonly stepS?: number; readonly unsteady?: readonly string[] } = {},
): void {
  const violations: Violation[] = watched.moments.flatMap(({ before, after }) =>
    checkPresentation(before, { ...options, after }),
  );
  assert.ok(watched.moments.length > 0, 'the renditions were compared at some moment');
  const uris = [...watched.renditions.keys()];
  for (const [uri, viewing] of watched.renditions) {
    const others = uris.filter((each) => each !== uri).map((each) => each.slice(each.lastIndexOf('/') + 1));
    violations.push(...checkRendition(viewing.reloads));
    const variableFrameRate = unsteady.some((name) => uri.endsWith(`/${name}.m3u8`));
    for (const { text } of viewing.reloads) violations.push(...checkMediaPlaylist(text, { others, variableFrameRate }));
  }
  for (const { body } of watched.multivariant) violations.push(...checkMultivariant(body.toString()));
  const distinct = new Map(violations.map((each) => [`${each.rule}: ${each.found}`, each]));
  assert.deepEqual([...distinct.keys()].slice(0, 10), []);
}

/** Asserts that two independent parsers read the same as our own reader. */
export function assertParsersAgree(viewing: Viewing): void {
  for (const { text } of viewing.reloads) {
    const ours = readMediaPlaylist(text);
    const listed = ours.segments.filter(({ uri }) => uri !== undefined);
    const expected = listed.map(({ uri, durationS, map }) => ({ uri, durationS, map }));

    const parser = new Parser();
    parser.push(text);
    parser.end();
    const { manifest } = parser;
    assert.equal(manifest.mediaSequence, ours.mediaSequence);
    assert.equal(manifest.targetDuration, ours.targetDurationS);
    const complete = manifest.segments.filter(({ uri }) => uri !== undefined);
    assert.deepEqual(
      complete.map(({ uri, duration, map }) => ({ uri, durationS: duration, map: map?.uri })),
      expected,
    );

    const playlist = hlsParser.parse(text);
    assert.ok(playlist instanceof hlsParser.types.MediaPlaylist);
    assert.equal(playlist.mediaSequenceBase, ours.mediaSequence);
    assert.deepEqual(
      playlist.segments
        .filter(({ uri }) => uri !== '')
        .map(({ uri, duration, map }) => ({ uri, durationS: duration, map: map?.uri })),
      expected,
    );
    assert.deepEqual(
      playlist.segments.flatMap(({ parts }) => parts.map(({ uri }) => uri)),
      ours.segments
        .flatMap(({ parts }) => parts.map(({ uri }) => uri))
        .concat(ours.hints.filter((hint) => hint.get('TYPE') === 'PART').map((hint) => hint.get('URI')!)),
    );
  }
}

/** Every complete segment that was listed, in order, with the parts of the last playlist that listed them. */
export function seenSegments({ reloads }: Viewing): readonly SeenSegment[] {
  const seen = new Map<number, SeenSegment>();
  for (const { text } of reloads) {
    for (const segment of readMediaPlaylist(text).segments) {
      const { uri, msn } = segment;
      if (uri === undefined) continue;
      const parts = segment.parts.length > 0 ? segment.parts : (seen.get(msn)?.parts ?? []);
      seen.set(msn, { ...segment, uri, parts });
    }
  }
  return [...seen.values()];
}

/**
 * The segments of a rendition that hold media, as runs of one configuration without a discontinuity or gap between them.
 * @param againAtMs wall-clock time at which a publisher came back. Its first segment begins a run although it is no discontinuity
 */
export function runsOf(viewing: Viewing, againAtMs = Number.POSITIVE_INFINITY): readonly (readonly SeenSegment[])[] {
  const runs: SeenSegment[][] = [];
  let broken = true;
  let beforeMs = Number.NEGATIVE_INFINITY;
  for (const segment of seenSegments(viewing)) {
    const startMs = Date.parse(segment.programDateTime!);
    broken ||= beforeMs < againAtMs && startMs >= againAtMs;
    beforeMs = startMs;
    if (segment.gap) {
      broken = true;
      continue;
    }
    if (broken || segment.discontinuity || segment.map !== runs.at(-1)?.at(-1)?.map) runs.push([]);
    broken = false;
    runs.at(-1)!.push(segment);
  }
  return runs;
}

/**
 * Asserts that the bytes are what the playlists say: parts make up their segment, times are contiguous, durations and dates are true.
 * @returns wall-clock time of media time 0 by the dates, the same for every segment
 */
export function assertMedia(viewing: Viewing): number {
  const epochs: number[] = [];
  const runs = runsOf(viewing);
  // A playlist lists no parts once it has ended, so the last parts of the session may never have been listed.
  const endingFrom = seenSegments(viewing).at(-2)?.msn ?? 0;
  // Parts are listed for three target durations, so a viewer that was held up may have missed some. When answers came does not show it,
  // because an answer may have been made long before it was read.
  const newest = viewing.reloads.map(({ text }) => readMediaPlaylist(text).segments.at(-1)?.msn ?? 0);
  const hasMissed = newest.some((msn, index) => msn - newest[Math.max(0, index - 1)]! > 1);
  for (const run of runs) {
    let endTicks: number | undefined;
    for (const segment of run) {
      const init = bytesOf(viewing, segment.map);
      const whole = bytesOf(viewing, segment.uri);
      const parts = segment.parts.map(({ uri, durationS }) => ({ uri, durationS, bytes: bytesOf(viewing, uri) }));
      const known = Buffer.concat(parts.map(({ bytes }) => bytes));
      assert.ok(known.equals(whole.subarray(0, known.length)), `${segment.uri} is not its parts`);
      const isListedWhole = known.length === whole.length;
      assert.ok(
        isListedWhole || segment.msn >= endingFrom || hasMissed,
        `${segment.uri} was never listed with all its parts`,
      );
      const pieces = isListedWhole ? parts : [{ uri: segment.uri, durationS: segment.durationS, bytes: whole }];
      for (const piece of pieces) endTicks = assertPiece(init, piece, endTicks);
      const track = readTrack(init, whole);
      assertDuration(track, { uri: segment.uri, durationS: segment.durationS, bytes: whole });
      const startMs = (Math.min(...track.samples.map(({ pts }) => pts)) / track.timescale) * 1000;
      // A session may end between frames that are shown in another order, so each of its last two segments may lack its first shown frame.
      if (segment.msn < endingFrom) epochs.push(Date.parse(segment.programDateTime!) - startMs);
      assertIndependence(track, segment);
    }
  }
  assert.ok(runs.length > 0, `${viewing.url} has no media`);
  assert.ok(Math.max(...epochs) - Math.min(...epochs) <= DATE_ROUNDING_MS, `dates drift: ${epochs.join(' ')}`);
  return epochs[0]!;
}

/** @returns where the segment ends, in ticks */
function assertPiece(init: Buffer, piece: Piece, startTicks: number | undefined): number {
  const track = readTrack(init, piece.bytes);
  let at = startTicks ?? track.samples[0]!.dts;
  for (const sample of track.samples) {
    assert.equal(sample.dts, at, `${piece.uri}: a hole or an overlap`);
    assert.ok(sample.duration > 0, piece.uri);
    at += sample.duration;
  }
  assertDuration(track, piece);
  return at;
}

function assertDuration({ samples, timescale }: ReadTrack, { uri, durationS }: Piece): void {
  const lastsS = samples.reduce((sum, { duration }) => sum + duration, 0) / timescale;
  assert.ok(Math.abs(lastsS - durationS) <= DURATION_ROUNDING_S, `${uri}: ${lastsS} s, said to be ${durationS} s`);
}

function assertIndependence(track: ReadTrack, segment: SeenSegment): void {
  if (segment.parts.length === 0) return;
  assert.equal(segment.parts[0]?.independent, track.samples[0]?.keyframe, `${segment.uri}: first part's INDEPENDENT`);
}

/**
 * Segments of one number start at the same time in every rendition, up to one audio frame. The last one of a session is left out: it has what
 * no part had when the session ended.
 */
export function assertAligned(watched: Watched): void {
  const starts = [...watched.renditions.values()].map(
    (viewing) => new Map(seenSegments(viewing).map((each) => [each.msn, Date.parse(each.programDateTime!)])),
  );
  const [first, ...others] = starts;
  let compared = 0;
  for (const other of others) {
    for (const [msn, startMs] of [...first!].slice(0, -1)) {
      const apart = Math.abs(startMs - (other.get(msn) ?? startMs));
      assert.ok(apart <= (1024 / 44_100) * 1000 + 1, `segment ${msn}: ${apart} ms apart`);
      compared += 1;
    }
  }
  assert.ok(compared >= 3);
}

/** Decodes each run without a discontinuity as one file. @param againAtMs see {@link runsOf} */
export async function decodeRuns(viewing: Viewing, againAtMs?: number): Promise<readonly Decoded[]> {
  const decoded: Decoded[] = [];
  for (const run of runsOf(viewing, againAtMs)) {
    decoded.push(await decode([bytesOf(viewing, run[0]!.map), ...run.map((segment) => bytesOf(viewing, segment.uri))]));
  }
  return decoded;
}

/** The same of a rendition without discontinuities and gaps. */
export async function decodeOnlyRun(viewing: Viewing): Promise<Decoded> {
  const [run, ...others] = await decodeRuns(viewing);
  assert.ok(run !== undefined && others.length === 0, `${others.length} discontinuities`);
  return run;
}

/** Asserts that every frame that was drawn is there, once and in order, and that the decoder had no complaints. */
export function assertEveryFrame({ frames, complaints }: Decoded, fromCounter?: number): void {
  assert.deepEqual(complaints, []);
  const counters = frames.map(({ code }) => code?.counter);
  const first = fromCounter ?? counters[0] ?? 0;
  assert.deepEqual(
    counters,
    counters.map((_, index) => first + index),
  );
  assert.ok(frames.length > 0);
}

/** Removes the frames that were repeated in place of frames that did not come. */
export function withoutRepeats(decoded: Decoded): Decoded {
  let newest = -1;
  const frames = decoded.frames.filter(({ code }) => {
    const isNew = code === undefined || code.counter > newest;
    newest = Math.max(newest, code?.counter ?? newest);
    return isNew;
  });
  return { ...decoded, frames };
}

/** The bytes of a resource that a playlist named. */
export function bytesOf(viewing: Viewing, uri: string | undefined): Buffer {
  const answer = viewing.media.get(uri ?? '');
  assert.ok(answer !== undefined, `${uri} was never loaded`);
  return answer.body;
}

/** Rates as Apple measures them: the peak over any run of segments of 0.5 to 1.5 target durations, and the average. */
export function measuredRates(viewing: Viewing): { readonly peakBps: number; readonly averageBps: number } {
  const { targetDurationS } = readMediaPlaylist(viewing.reloads[0]!.text);
  const segments = runsOf(viewing)
    .flat()
    .map((segment) => ({ bits: bytesOf(viewing, segment.uri).length * 8, durationS: segment.durationS }));
  const rate = (from: number, to: number) => {
    const taken = segments.slice(from, to);
    const durationS = taken.reduce((sum, each) => sum + each.durationS, 0);
    return { durationS, bps: taken.reduce((sum, each) => sum + each.bits, 0) / durationS };
  };
  const runs = segments.flatMap((_, from) =>
    segments.slice(from).map((_each, length) => rate(from, from + length + 1)),
  );
  const counted = runs.filter(
    ({ durationS }) => durationS >= targetDurationS / 2 && durationS <= targetDurationS * 1.5,
  );
  assert.ok(counted.length > 0, 'there are segments to measure');
  return { peakBps: Math.max(...counted.map(({ bps }) => bps)), averageBps: rate(0, segments.length).bps };
}

/** What a viewer got of the rendition with this name. */
export function renditionOf({ renditions }: Watched, name: string): Viewing {
  const [, viewing] = [...renditions].find(([uri]) => uri.endsWith(`/${name}.m3u8`)) ?? [];
  assert.ok(viewing !== undefined, `there is no rendition ${name}`);
  return viewing;
}

/** The variants of a multivariant playlist by the names of their renditions, in its order. */
export function variantsOf(multivariant: string): ReadonlyMap<string, Attributes> {
  const variants = multivariant.matchAll(/^#EXT-X-STREAM-INF:(.*)\n(?:.*\/)?(.*)\.m3u8$/gm);
  return new Map(Array.from(variants, ([, attributes = '', name = '']) => [name, readAttributes(attributes)]));
}
