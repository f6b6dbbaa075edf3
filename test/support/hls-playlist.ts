/**
 * A reader of HLS playlists for the rule checker. It keeps what the rules are about, such as the order of tags, which parsers of players
 * discard. It shares no code with `src/hls`, so that no mistake is made twice.
 */

/** The attributes of a tag, without quotes. */
export type Attributes = ReadonlyMap<string, string>;

/** EXT-X-PART. */
export interface PlaylistPart {
  readonly uri: string;
  readonly durationS: number;
  readonly independent: boolean;
  readonly gap: boolean;
}

/** A segment. The one that is still growing has no URI. */
export interface PlaylistSegment {
  readonly msn: number;
  readonly uri: string | undefined;
  readonly durationS: number;
  readonly discontinuity: boolean;
  /** EXT-X-DISCONTINUITY-SEQUENCE plus the discontinuities up to here. A delta update does not count those in skipped segments. */
  readonly discontinuityNumber: number;
  readonly programDateTime: string | undefined;
  /** The EXT-X-MAP in force. */
  readonly map: string | undefined;
  readonly gap: boolean;
  readonly parts: readonly PlaylistPart[];
  /** Tags that stand after the segment's first part although they apply to it. */
  readonly misplaced: readonly string[];
}

/** A media playlist. */
export interface MediaPlaylist {
  readonly lines: readonly string[];
  /** Values of each tag that belongs to the playlist as a whole, in order. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  readonly targetDurationS: number;
  readonly partTargetS: number | undefined;
  readonly serverControl: Attributes;
  readonly mediaSequence: number;
  readonly discontinuitySequence: number;
  readonly skipped: number;
  readonly segments: readonly PlaylistSegment[];
  readonly hints: readonly Attributes[];
  readonly reports: readonly Attributes[];
  readonly ended: boolean;
}

interface Growing {
  parts: PlaylistPart[];
  durationS: number;
  discontinuity: boolean;
  gap: boolean;
  programDateTime: string | undefined;
  misplaced: string[];
}

const nothing = (): Growing => ({
  parts: [],
  durationS: 0,
  discontinuity: false,
  gap: false,
  programDateTime: undefined,
  misplaced: [],
});

/** Reads a media playlist. It never throws: values that are missing are NaN or empty. */
export function readMediaPlaylist(text: string): MediaPlaylist {
  const lines = text.split('\n');
  const tags = new Map<string, string[]>();
  const segments: PlaylistSegment[] = [];
  let growing = nothing();
  let map: string | undefined;
  const all = (name: string): readonly string[] => tags.get(name) ?? [];
  const number = (name: string): number => Number(all(name)[0] ?? Number.NaN);
  const skipped = () => Number(readAttributes(all('EXT-X-SKIP')[0] ?? '').get('SKIPPED-SEGMENTS') ?? 0);
  const finish = (uri: string | undefined): void => {
    const before = segments.at(-1)?.discontinuityNumber ?? number('EXT-X-DISCONTINUITY-SEQUENCE');
    segments.push({
      ...growing,
      uri,
      map,
      msn: number('EXT-X-MEDIA-SEQUENCE') + skipped() + segments.length,
      discontinuityNumber: before + (growing.discontinuity ? 1 : 0),
    });
    growing = nothing();
  };

  for (const line of lines) {
    if (line === '') continue;
    if (!line.startsWith('#')) {
      finish(line);
      continue;
    }
    const [, name = '', value = ''] = /^#([A-Z0-9-]+)(?::(.*))?$/.exec(line) ?? [];
    if (growing.parts.length > 0 && APPLIES_TO_FIRST_PART.has(name)) growing.misplaced.push(name);
    if (name === 'EXT-X-PART') growing.parts.push(readPart(value));
    else if (name === 'EXTINF') growing.durationS = Number(value.split(',')[0]);
    else if (name === 'EXT-X-DISCONTINUITY') growing.discontinuity = true;
    else if (name === 'EXT-X-GAP') growing.gap = true;
    else if (name === 'EXT-X-PROGRAM-DATE-TIME') growing.programDateTime = value;
    else if (name === 'EXT-X-MAP') map = readAttributes(value).get('URI');
    else tags.set(name, [...all(name), value]);
  }
  if (growing.parts.length > 0) finish(undefined);

  return {
    lines,
    tags,
    segments,
    targetDurationS: number('EXT-X-TARGETDURATION'),
    partTargetS: tags.has('EXT-X-PART-INF') ? partTarget(all('EXT-X-PART-INF')[0]) : undefined,
    serverControl: readAttributes(all('EXT-X-SERVER-CONTROL')[0] ?? ''),
    mediaSequence: number('EXT-X-MEDIA-SEQUENCE'),
    discontinuitySequence: number('EXT-X-DISCONTINUITY-SEQUENCE'),
    skipped: skipped(),
    hints: all('EXT-X-PRELOAD-HINT').map(readAttributes),
    reports: all('EXT-X-RENDITION-REPORT').map(readAttributes),
    ended: tags.has('EXT-X-ENDLIST'),
  };
}

/** Reads an attribute list (§4.2). */
export function readAttributes(text: string): Attributes {
  const attributes = new Map<string, string>();
  for (const [, name = '', quoted, plain] of text.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^",]*))/g)) {
    attributes.set(name, quoted ?? plain ?? '');
  }
  return attributes;
}

const APPLIES_TO_FIRST_PART = new Set(['EXT-X-DISCONTINUITY', 'EXT-X-MAP', 'EXT-X-PROGRAM-DATE-TIME', 'EXT-X-KEY']);

/** Parts by their attribute lists. Each playlist of a rendition lists most parts of the one before. Reading parts takes the most time. */
const partsRead = new Map<string, PlaylistPart>();
const MAX_PARTS_READ = 10_000;

function readPart(value: string): PlaylistPart {
  let part = partsRead.get(value);
  if (part === undefined) {
    const attributes = readAttributes(value);
    part = {
      uri: attributes.get('URI') ?? '',
      durationS: Number(attributes.get('DURATION') ?? Number.NaN),
      independent: attributes.get('INDEPENDENT') === 'YES',
      gap: attributes.get('GAP') === 'YES',
    };
    if (partsRead.size >= MAX_PARTS_READ) partsRead.clear();
    partsRead.set(value, part);
  }
  return part;
}

const partTarget = (value = ''): number => Number(readAttributes(value).get('PART-TARGET') ?? Number.NaN);
