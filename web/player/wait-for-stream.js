// @ts-check
/**
 * Waits, politely, until a stream plays.
 */

/**
 * A session to be played.
 * @typedef {object} Session
 * @property {string} session what identifies it: the path its media lies under
 * @property {boolean} hasThumbnail
 */
/** @typedef {'offline' | 'full' | 'unreachable'} Absence why there is nothing to play */

/** Between two questions: 1 to 2 s, spread so that all who wait do not ask at the same moment. */
const PAUSE_MS = 1000;
/** A hidden page asks this seldom. */
const HIDDEN_PAUSE_MS = 10_000;
/** The server holds the question for at most 3 target durations while a session is starting. */
const TIMEOUT_MS = 30_000;

/**
 * Asks for `index.m3u8` until it names a session other than `after`.
 * @param {string} url of `index.m3u8`
 * @param {object} options
 * @param {string | undefined} options.after the session that was played to its end: its playlist stays for a while
 * @param {(absence: Absence) => void} options.onAbsent called after every question that found nothing
 * @returns {Promise<Session>}
 */
export async function waitForStream(url, { after, onAbsent }) {
  for (;;) {
    const answer = await ask(url);
    if ('session' in answer && answer.session !== after) return answer;
    onAbsent('absence' in answer ? answer.absence : 'offline');
    await pause('retryAfterS' in answer ? answer.retryAfterS : 0);
  }
}

/**
 * @param {string} url
 * @returns {Promise<Session | { absence: Absence, retryAfterS: number }>}
 */
async function ask(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.ok) return sessionOf(await response.text());
    const retryAfterS = Number(response.headers.get('retry-after')) || 0; // a proxy may say a date instead
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

/** @param {number} status @param {string | undefined} code @returns {Absence} */
function absenceOf(status, code) {
  if (code === 'too_many_viewers') return 'full';
  return status < 500 || code === 'playlist_timeout' ? 'offline' : 'unreachable';
}

/**
 * What a multivariant playlist tells. The first folder it names is random, and another one for each session; where pictures are
 * decoded, for more variants than the source, there is a thumbnail.
 * @param {string} playlist
 * @returns {Session}
 */
function sessionOf(playlist) {
  const uris = playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { session: uris[0]?.split('/')[0] ?? '', hasThumbnail: uris.length > 1 };
}

/**
 * Ends early when a hidden page is looked at again.
 * @param {number} atLeastS
 * @returns {Promise<void>}
 */
function pause(atLeastS) {
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
  });
}
