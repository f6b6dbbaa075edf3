/**
 * How long each kind of answer may be kept by any cache between Millrace and a viewer (rfc8216bis Appendix B.1).
 * Times count in target durations, so that a stock cache that obeys `Cache-Control` is a correct CDN.
 */

/** Kinds of answers by how long they stay true. */
export type AnswerKind =
  | 'blocking_playlist' // final: the URL names the state of the playlist it waited for
  | 'blocking_playlist_error'
  | 'playlist' // the state of this moment
  | 'playlist_error'
  | 'thumbnail' // replaced every few seconds
  | 'media' // never changes; its name is never used again
  | 'media_error'
  | 'offline' // asked again and again by players that wait for the stream
  | 'moment'; // an overload or time-out, true now, perhaps not in a second; or true of this request alone

/** The `Cache-Control` of a kind of answer. */
export type CacheControl = (kind: AnswerKind) => string;

/**
 * The rule for one target duration.
 *
 * Errors worth keeping are those a cache can answer as well as we can (400, 404). A 503 is none of them: kept for four target
 * durations it would outlive the fault it tells of, for every viewer behind that cache.
 * @param targetDurationS EXT-X-TARGETDURATION, in seconds
 */
export function cacheControlFor(targetDurationS: number): CacheControl {
  const maxAge = (targetDurations: number) => `max-age=${Math.max(1, Math.floor(targetDurations * targetDurationS))}`;
  const byKind: Readonly<Record<AnswerKind, string>> = {
    blocking_playlist: maxAge(6),
    blocking_playlist_error: maxAge(4),
    playlist: maxAge(0.5),
    playlist_error: maxAge(1),
    thumbnail: 'max-age=5',
    media: `${maxAge(6)}, immutable`,
    media_error: maxAge(1),
    offline: 'max-age=1',
    moment: 'no-store',
  };
  return (kind) => byKind[kind];
}
