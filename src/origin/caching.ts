/**
 * How long each kind of answer may be kept by any cache between Millrace and a viewer (rfc8216bis Appendix B.1).
 * Times count in target durations, so that a stock cache that obeys `Cache-Control` is a correct CDN.
 *
 * No error may be kept. Names of media are predictable: if errors were kept, whoever asks for a segment a moment before it exists would
 * make the cache refuse it to everybody a moment later.
 */

/** Kinds of answers by how long they stay true. */
export type AnswerKind =
  | 'blocking_playlist' // final: the URL names the state of the playlist it waited for
  | 'playlist' // the state of this moment
  | 'thumbnail' // replaced every few seconds
  | 'media' // never changes; its name is never used again
  | 'unshared'; // true now but perhaps not a second later, or true for this request alone

/** The `Cache-Control` of a kind of answer. */
export type CacheControl = (kind: AnswerKind) => string;

/**
 * The rule for one target duration.
 * @param targetDurationS EXT-X-TARGETDURATION, in seconds
 */
export function cacheControlFor(targetDurationS: number): CacheControl {
  const maxAge = (targetDurations: number) => `max-age=${Math.max(1, Math.floor(targetDurations * targetDurationS))}`;
  const byKind: Readonly<Record<AnswerKind, string>> = {
    blocking_playlist: maxAge(6),
    playlist: maxAge(0.5),
    thumbnail: 'max-age=5',
    media: `${maxAge(6)}, immutable`,
    unshared: 'no-store',
  };
  return (kind) => byKind[kind];
}

/** For how many milliseconds a `Cache-Control` header allows an answer to be kept; 0 when it names no time. */
export function maxAgeMs(cacheControl: string): number {
  const [, seconds = '0'] = /(?:^|[ ,])max-age=(\d{1,9})(?:,|$)/.exec(cacheControl) ?? [];
  return Number(seconds) * 1000;
}
