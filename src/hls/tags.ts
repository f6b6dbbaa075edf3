/**
 * The tags of playlists, one function each (rfc8216bis §4.4). They take numbers and names and return text.
 */

/** SERVER-CONTROL, which is the same in every media playlist of a presentation (§6.2.4). */
export interface ServerControl {
  readonly holdBackS: number;
  readonly partHoldBackS: number;
  readonly canSkipUntilS: number;
}

/** Durations are written to 10 µs, so that parts add up to their segment. */
const seconds = (value: number): string => value.toFixed(5);
/** A duration as a playlist states it, in seconds. Players add up what is stated. */
export const writtenS = (durationS: number): number => Number(seconds(durationS));

/** Settings and hold-backs are whole milliseconds. */
const milliseconds = (valueS: number): string => valueS.toFixed(3);

/** §4.4.1.1 and §4.4.1.2. EXT-X-SKIP requires version 9. EXT-X-MAP alone would need 6. */
export const head = (): string => '#EXTM3U\n#EXT-X-VERSION:9';
/** §4.4.2.1 */
export const independentSegments = (): string => '#EXT-X-INDEPENDENT-SEGMENTS';

export const targetDuration = (valueS: number): string => `#EXT-X-TARGETDURATION:${valueS}`;
export const mediaSequence = (msn: number): string => `#EXT-X-MEDIA-SEQUENCE:${msn}`;
export const discontinuitySequence = (value: number): string => `#EXT-X-DISCONTINUITY-SEQUENCE:${value}`;
export const partInf = (partTargetS: number): string => `#EXT-X-PART-INF:PART-TARGET=${milliseconds(partTargetS)}`;
export const endList = (): string => '#EXT-X-ENDLIST';

export const serverControl = ({ holdBackS, partHoldBackS, canSkipUntilS }: ServerControl): string =>
  `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${milliseconds(partHoldBackS)},` +
  `HOLD-BACK=${milliseconds(holdBackS)},CAN-SKIP-UNTIL=${milliseconds(canSkipUntilS)}`;

export const extinf = (durationS: number): string => `#EXTINF:${seconds(durationS)},`;
export const discontinuity = (): string => '#EXT-X-DISCONTINUITY';
export const map = (uri: string): string => `#EXT-X-MAP:URI="${uri}"`;
export const programDateTime = (sinceEpochMs: number): string =>
  `#EXT-X-PROGRAM-DATE-TIME:${new Date(sinceEpochMs).toISOString()}`;

export const part = (uri: string, durationS: number, independent: boolean): string =>
  `#EXT-X-PART:DURATION=${seconds(durationS)},URI="${uri}"${independent ? ',INDEPENDENT=YES' : ''}`;

export const skip = (segments: number): string => `#EXT-X-SKIP:SKIPPED-SEGMENTS=${segments}`;
export const preloadHint = (type: 'PART' | 'MAP', uri: string): string =>
  `#EXT-X-PRELOAD-HINT:TYPE=${type},URI="${uri}"`;
export const renditionReport = (uri: string, lastMsn: number, lastPart: number | undefined): string =>
  `#EXT-X-RENDITION-REPORT:URI="${uri}",LAST-MSN=${lastMsn}${lastPart === undefined ? '' : `,LAST-PART=${lastPart}`}`;
