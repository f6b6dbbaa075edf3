// @ts-check
/**
 * Waits until a stream is live, with few requests.
 */
import { abortAfter } from './abort-after.js';

/**
 * A session to be played.
 * @typedef {object} Session
 * @property {string} session identifies the session: the path of its media
 * @property {boolean} hasThumbnail
 */
/** @typedef {'offline' | 'full' | 'unreachable' | 'refused' | 'elsewhere' | 'unchecked' | 'throttled'} Absence why there is nothing to play */

/** The pause between two requests: 1 to 2 s, at random, so that waiting pages do not all send one at the same moment. */
const PAUSE_MS = 1000;
/** The pause of a hidden page. */
const HIDDEN_PAUSE_MS = 10_000;
/** The pause of a page whose viewer is refused, in seconds. The viewer's right may begin later, or be restored. */
const REFUSED_PAUSE_S = 10;
/** How long a request may take. The server holds it for at most 3 target durations while a session is starting. */
const TIMEOUT_MS = 30_000;

/**
 * Requests `index.m3u8` until it is that of a session other than `after`.
 * @param {string} url the URL of `index.m3u8`
 * @param {object} options
 * @param {string | undefined} options.after the session that was played to its end, whose playlist stays for a while
 * @param {(absence: Absence) => void} options.onAbsent called after every request that found nothing
 * @param {AbortSignal} options.signal ends the wait
 * @returns {Promise<Session | undefined>} undefined when the wait was ended
 */
export async function waitForStream(url, { after, onAbsent, signal }) {
  for (;;) {
    const answer = await ask(url);
    if (signal.aborted) return undefined;
    if ('session' in answer && answer.session !== after) return answer;
    onAbsent('absence' in answer ? answer.absence : 'offline');
    await pause('retryAfterS' in answer ? answer.retryAfterS : 0, signal);
    if (signal.aborted) return undefined;
  }
}

/**
 * @param {string} url
 * @returns {Promise<Session | { absence: Absence, retryAfterS: number }>}
 */
async function ask(url) {
  try {
    const response = await fetch(url, { signal: abortAfter(TIMEOUT_MS) });
    if (response.ok) return sessionOf(await response.text());
    const isRefused = response.status === 401 || response.status === 403;
    // A proxy may send a date instead.
    const retryAfterS = Number(response.headers.get('retry-after')) || (isRefused ? REFUSED_PAUSE_S : 0);
    return { absence: absenceOf(response.status, await codeOf(response)), retryAfterS };
  } catch {
    return { absence: 'unreachable', retryAfterS: 0 };
  }
}

/** @param {Response} response @returns {Promise<string | undefined>} the error's code; proxies and caches have none */
async function codeOf(response) {
  try {
    return (await response.json()).code;
  } catch {
    return undefined;
  }
}

/**
 * Why there is nothing to play, by the answer to a request for `index.m3u8`.
 * @param {number} status
 * @param {string | undefined} code the error's code, unless a proxy answered
 * @returns {Absence}
 */
export function absenceOf(status, code) {
  if (code === 'too_many_viewers') return 'full';
  if (status === 401) return 'refused';
  if (code === 'origin_not_allowed') return 'elsewhere';
  if (code === 'playback_check_failed') return 'unchecked';
  if (status === 429) return 'throttled';
  return status < 500 || code === 'playlist_timeout' ? 'offline' : 'unreachable';
}

/**
 * Identifies the session of a multivariant playlist by the first folder in its URIs, which is random for each session. There is a thumbnail
 * when the session is transcoded, which shows in there being more variants than the source.
 * @param {string} playlist
 * @returns {Session}
 */
function sessionOf(playlist) {
  const uris = playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { session: uris[0]?.split('/')[0] ?? '', hasThumbnail: uris.length > 1 };
}

/**
 * Waits. Ends early when a hidden page becomes visible again, or the signal aborts.
 * @param {number} atLeastS
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(atLeastS, signal) {
  const pauseMs = Math.max(document.hidden ? HIDDEN_PAUSE_MS : PAUSE_MS, atLeastS * 1000);
  return new Promise((resolve) => {
    const wake = new AbortController();
    const done = () => {
      wake.abort();
      resolve();
    };
    const timer = setTimeout(done, pauseMs + Math.random() * PAUSE_MS);
    wake.signal.addEventListener('abort', () => clearTimeout(timer));
    document.addEventListener('visibilitychange', () => document.hidden || done(), { signal: wake.signal });
    signal.addEventListener('abort', done, { signal: wake.signal });
  });
}
