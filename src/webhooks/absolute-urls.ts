/**
 * Completes the URLs in payloads of events, which begin at the server's root, because the store does not know the origin.
 */

/** The fields that hold URLs. */
const URLS: readonly string[] = ['recordingUrl', 'mp4Url', 'playbackUrl', 'downloadUrl'];

/** A payload with whole URLs. @param origin such as `https://live.example.com`; undefined leaves them as they are */
export function withOrigin(payload: object, origin: string | undefined): object {
  if (origin === undefined) return payload;
  const entries = Object.entries(payload).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return [name, withOrigin(value, origin)];
    return [name, URLS.includes(name) && typeof value === 'string' ? origin + value : value];
  });
  return Object.fromEntries(entries) as object;
}
