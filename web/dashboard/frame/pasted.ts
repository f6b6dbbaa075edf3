/**
 * Finds the id in a pasted text, and what of the text may be searched for as a name.
 */

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const STREAM_KEY = /(?<![0-9a-z-])[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){3}(?![0-9a-z-])/i;
const API_KEY = /millrace_[\w-]{43}/;
/** A viewer's right. */
const RIGHT = /\b(?:jwt|accessKey)=|\beyJ[\w-]+\.[\w-]+\./;
/** An address, or a part of one that may have a secret after a `#`, which is where links have theirs. */
const ADDRESS = /:\/\/|[/=@].*#|#.*[/=@]|#\S{16}/s;
const PLAYBACK_ID = /(?<![0-9a-z])[0-9a-hjkmnp-tv-z]{16}(?![0-9a-z])/i;

/** The id, stream key or playback id in a text, such as an address or a line of a log; undefined when it holds none. */
export function pastedId(text: string): string | undefined {
  return (ID.exec(text) ?? STREAM_KEY.exec(text) ?? PLAYBACK_ID.exec(text))?.[0].toLowerCase();
}

/**
 * The part of a text that may be searched for as a name. Empty when there is none. The search sends it in a query, which proxies write to
 * their logs. So a text with a secret, or an address that may have one, is not searched for. A `#` may also be a part of a name.
 */
export function pastedName(text: string): string {
  return [STREAM_KEY, API_KEY, RIGHT, ADDRESS].some((secret) => secret.test(text)) ? '' : text.trim();
}
