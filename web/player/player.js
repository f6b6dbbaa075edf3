// @ts-check
/**
 * The player page: waits for the stream, plays it, and starts again whatever happens to it.
 */
import { wireControls } from './controls.js';
import { loadEngine } from './engine.js';
import { wireQuality } from './quality.js';
import { OFFLINE_WORDINGS, showLatency, showState } from './state.js';
import { waitForStream } from './wait-for-stream.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Outcome} Outcome */

/** The pauses before a lost session is started again: each is twice the one before, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** After a session that lasted this long, the pauses start from the first again. */
const WELL_MS = 10_000;
/** Shorter stalls are not shown. */
const STALL_SHOWN_AFTER_MS = 400;
const LATENCY_SHOWN_EVERY_MS = 500;

const video = /** @type {HTMLVideoElement} */ (document.getElementById('video'));
/** Relative to the page, so that a proxy may put us under a path of its own. */
const folder = new URL(`../hls/${location.pathname.split('/').at(-1)}/`, location.href);
/** The viewer's right, if the stream is not public, from `#jwt=...` or `#accessKey=...`. Browsers do not send fragments to servers. */
const right = rightOf(location.hash);
const indexUrl = new URL(`index.m3u8${right}`, folder).href;
/** @type {Engine | undefined} */
let engine;

document.documentElement.dataset.muted = 'auto';
wireControls(video, () => engine?.goLive());
const quality = wireQuality();
showPlayback();
setInterval(() => {
  if (document.documentElement.dataset.state === 'playing') showLatency(engine?.latencyS());
}, LATENCY_SHOWN_EVERY_MS);
// Another link to the same stream differs only in its fragment, and a change of that does not make a browser load the page again.
addEventListener('hashchange', () => location.reload());
await playForEver();

/** Plays one session after another. */
async function playForEver() {
  const play = await loadEngine();
  /** @type {string | undefined} */
  let endedSession;
  /** @type {Outcome | undefined} */
  let outcome;
  let losses = 0;
  let wantsPause = false;
  for (;;) {
    const { session, hasThumbnail } = await waitForStream(indexUrl, {
      after: endedSession,
      onAbsent: (absence) => {
        outcome = undefined;
        const reason = absence === 'offline' && endedSession !== undefined ? 'ended' : absence;
        showState('offline', OFFLINE_WORDINGS[reason]);
      },
    });
    // An unsupported stream is tried again, since it may get a variant that this browser can play. Until then the page stays as it is.
    if (outcome !== 'unsupported') showState(wantsPause ? 'paused' : 'waiting');
    // Another session, another picture: the same address would not be loaded again.
    if (hasThumbnail) video.poster = new URL(`thumbnail.jpg${right}${right === '' ? '?' : '&'}${session}`, folder).href;
    else video.removeAttribute('poster');
    const startedAt = performance.now();
    engine = play(video, indexUrl, quality);
    if (!wantsPause) void startPlaying();
    outcome = await engine.outcome;
    wantsPause = document.documentElement.dataset.state === 'paused';
    engine.stop();
    engine = undefined;
    showLatency(undefined);
    if (outcome === 'ended') endedSession = session;
    if (outcome === 'unsupported') showState('unsupported');
    losses = outcome === 'ended' || performance.now() - startedAt > WELL_MS ? 0 : losses + 1;
    if (outcome !== 'ended') await pause(Math.min(FIRST_PAUSE_MS * 2 ** losses, LONGEST_PAUSE_MS));
  }
}

/** Starts playing with audio as it is, otherwise muted, otherwise when the play button is pressed. */
async function startPlaying() {
  try {
    await video.play();
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'NotAllowedError') return; // the engine reports what is wrong
    if (video.muted) return showState('paused');
    document.documentElement.dataset.muted = 'auto';
    video.muted = true;
    await startPlaying();
  }
}

/** Shows whether the video plays, stalls or is paused, as long as there is a session. */
function showPlayback() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let stall;
  let moved = false;
  let lastTime = 0;
  const show = (/** @type {import('./state.js').State} */ state) => {
    clearTimeout(stall);
    if (engine && !video.ended) showState(state);
  };
  video.addEventListener('emptied', () => {
    moved = false;
    lastTime = 0;
  });
  video.addEventListener('timeupdate', () => {
    if (video.paused || video.seeking || video.currentTime === lastTime) return;
    moved ||= lastTime > 0;
    lastTime = video.currentTime;
    if (moved) show('playing');
  });
  video.addEventListener('waiting', () => {
    clearTimeout(stall);
    stall = setTimeout(() => show(moved ? 'stalled' : 'waiting'), STALL_SHOWN_AFTER_MS);
  });
  video.addEventListener('pause', () => show('paused'));
}

/**
 * The query with a viewer's right; empty when there is none.
 * @param {string} fragment
 */
function rightOf(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  const shown = new URLSearchParams();
  for (const name of ['jwt', 'accessKey']) {
    const value = given.get(name);
    if (value) shown.set(name, value);
  }
  return shown.size === 0 ? '' : `?${shown}`;
}

/** @param {number} pauseMs @returns {Promise<void>} */
function pause(pauseMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
