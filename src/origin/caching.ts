/**
 * How long each kind of answer may be stored by the caches between Millrace and a viewer (rfc8216bis Appendix B.1): media by every cache,
 * playlists by shared caches only.
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
  | 'restricted' // depends on who asks: no cache may keep it, not even a browser's, which somebody else may use next
  | 'unshared'; // true now but perhaps not a second later, or true for this request alone

/** The `Cache-Control` of a kind of answer. */
export type CacheControl = (kind: AnswerKind) => string;

/**
 * The rule for one target duration.
 * @param targetDurationS EXT-X-TARGETDURATION, in seconds
 */
export function cacheControlFor(targetDurationS: number): CacheControl {
  const seconds = (targetDurations: number) => Math.max(1, Math.floor(targetDurations * targetDurationS));
  // A playlist changes several times a second. A browser that stored one would give it to a player that asks again for what is new:
  // video.js repeats the URL of a blocking reload, and stood still for as long as its answer could be stored.
  const sharedOnly = (targetDurations: number) => `max-age=0, s-maxage=${seconds(targetDurations)}`;
  const byKind: Readonly<Record<AnswerKind, string>> = {
    blocking_playlist: sharedOnly(6),
    playlist: sharedOnly(0.5),
    thumbnail: 'max-age=5',
    media: `max-age=${seconds(6)}, immutable`,
    restricted: 'private, no-store',
    unshared: 'no-store',
  };
  return (kind) => byKind[kind];
}

/** For how many milliseconds a `Cache-Control` header allows a shared cache to keep an answer; 0 when it names no time. */
export function sharedMaxAgeMs(cacheControl: string): number {
  const shared = /(?:^|[ ,])s-maxage=(\d{1,9})(?:,|$)/.exec(cacheControl);
  const any = shared ?? /(?:^|[ ,])max-age=(\d{1,9})(?:,|$)/.exec(cacheControl);
  return Number(any?.[1] ?? 0) * 1000;
}
