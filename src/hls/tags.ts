/**
 * The tags of playlists, one function each (rfc8216bis §4.4). Each returns its lines without a line break at the end. URIs are written as
 * they are given, so they must not contain quotation marks.
 */

/** The attributes of EXT-X-SERVER-CONTROL, in seconds. They are the same in every media playlist of a presentation (§6.2.4). */
export interface ServerControl {
  readonly holdBackS: number;
  readonly partHoldBackS: number;
  readonly canSkipUntilS: number;
}

/** Durations are written to 10 µs, so that parts add up to their segment. */
const seconds = (value: number): string => value.toFixed(5);
/** A duration in seconds, rounded as playlists state it. Players add up the rounded values. */
export const writtenS = (durationS: number): number => Number(seconds(durationS));

/** Settings and hold-backs are whole milliseconds. */
const milliseconds = (valueS: number): string => valueS.toFixed(3);

/** The beginning of every playlist: EXTM3U and EXT-X-VERSION (§4.4.1.1, §4.4.1.2). EXT-X-SKIP requires version 9, EXT-X-MAP only 6. */
export const head = (): string => '#EXTM3U\n#EXT-X-VERSION:9';
/** EXT-X-INDEPENDENT-SEGMENTS: every segment can be decoded without those before it (§4.4.2.1). */
export const independentSegments = (): string => '#EXT-X-INDEPENDENT-SEGMENTS';

/** EXT-X-TARGETDURATION (§4.4.3.1). @param valueS whole seconds: no segment, rounded to the nearest second, is longer */
export const targetDuration = (valueS: number): string => `#EXT-X-TARGETDURATION:${valueS}`;
/** EXT-X-MEDIA-SEQUENCE: the media sequence number of the first segment (§4.4.3.2). */
export const mediaSequence = (msn: number): string => `#EXT-X-MEDIA-SEQUENCE:${msn}`;
/** EXT-X-DISCONTINUITY-SEQUENCE: the number of discontinuities before the first segment (§4.4.3.3). */
export const discontinuitySequence = (value: number): string => `#EXT-X-DISCONTINUITY-SEQUENCE:${value}`;
/** EXT-X-PART-INF (§4.4.3.7). @param partTargetS the longest duration of a part, in seconds */
export const partInf = (partTargetS: number): string => `#EXT-X-PART-INF:PART-TARGET=${milliseconds(partTargetS)}`;
/** EXT-X-ENDLIST: the playlist gets no more segments (§4.4.3.4). */
export const endList = (): string => '#EXT-X-ENDLIST';

/** EXT-X-SERVER-CONTROL of a playlist whose requests may block (§4.4.3.8). */
export const serverControl = ({ holdBackS, partHoldBackS, canSkipUntilS }: ServerControl): string =>
  `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${milliseconds(partHoldBackS)},` +
  `HOLD-BACK=${milliseconds(holdBackS)},CAN-SKIP-UNTIL=${milliseconds(canSkipUntilS)}`;

/** EXTINF: the duration of the next segment, in seconds (§4.4.4.1). */
export const extinf = (durationS: number): string => `#EXTINF:${seconds(durationS)},`;
/** EXT-X-DISCONTINUITY: the next segment does not continue the one before it (§4.4.4.3). */
export const discontinuity = (): string => '#EXT-X-DISCONTINUITY';
/** EXT-X-MAP: the init segment of the segments that follow (§4.4.4.5). */
export const map = (uri: string): string => `#EXT-X-MAP:URI="${uri}"`;
/** EXT-X-PROGRAM-DATE-TIME: the wall-clock time of the first frame of the next segment (§4.4.4.6). */
export const programDateTime = (sinceEpochMs: number): string =>
  `#EXT-X-PROGRAM-DATE-TIME:${new Date(sinceEpochMs).toISOString()}`;

/** EXT-X-PART (§4.4.4.9). @param durationS in seconds @param independent whether it contains a frame that a decoder can start with */
export const part = (uri: string, durationS: number, independent: boolean): string =>
  `#EXT-X-PART:DURATION=${seconds(durationS)},URI="${uri}"${independent ? ',INDEPENDENT=YES' : ''}`;

/** EXT-X-SKIP of a delta update (§4.4.5.2). @param segments the number of segments that are left out at the beginning */
export const skip = (segments: number): string => `#EXT-X-SKIP:SKIPPED-SEGMENTS=${segments}`;
/** EXT-X-PRELOAD-HINT: a part or init segment that will be needed next, and may be requested already (§4.4.5.3). */
export const preloadHint = (type: 'PART' | 'MAP', uri: string): string =>
  `#EXT-X-PRELOAD-HINT:TYPE=${type},URI="${uri}"`;
/**
 * EXT-X-RENDITION-REPORT: the newest position of another rendition (§4.4.5.4).
 * @param lastMsn its last media sequence number
 * @param lastPart the number of the last part of that segment; undefined when the rendition lists no parts
 */
export const renditionReport = (uri: string, lastMsn: number, lastPart: number | undefined): string =>
  `#EXT-X-RENDITION-REPORT:URI="${uri}",LAST-MSN=${lastMsn}${lastPart === undefined ? '' : `,LAST-PART=${lastPart}`}`;
