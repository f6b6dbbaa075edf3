/**
 * Finds the id in a pasted text, and what of the text may be searched for as a name.
 */

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const STREAM_KEY = /(?<![0-9a-z-])[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){3}(?![0-9a-z-])/i;
const API_KEY = /millrace_[\w-]{43}/;
const PLAYBACK_ID = /(?<![0-9a-z])[0-9a-hjkmnp-tv-z]{16}(?![0-9a-z])/i;

/** The id, stream key or playback id in a text, such as an address or a line of a log; undefined when it holds none. */
export function pastedId(text: string): string | undefined {
  return (ID.exec(text) ?? STREAM_KEY.exec(text) ?? PLAYBACK_ID.exec(text))?.[0].toLowerCase();
}

/**
 * The part of a text that may be searched for as a name; empty when there is none. The search sends it in a query, which proxies write to
 * their logs. So keys and addresses are left out, and what follows a `#`, which is where links have their secrets.
 */
export function pastedName(text: string): string {
  return [STREAM_KEY, API_KEY, /:\/\//].some((secret) => secret.test(text)) ? '' : text.replace(/#.*/s, '').trim();
}
