// @ts-check
/**
 * The player page: waits for the stream, plays it, and begins anew whatever happens to it.
 */
import { wireControls } from './controls.js';
import { loadEngine } from './engine.js';
import { wireQuality } from './quality.js';
import { OFFLINE_WORDINGS, showLatency, showState } from './state.js';
import { waitForStream } from './wait-for-stream.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Outcome} Outcome */

/** A session that was lost is begun anew after 0.5 s, later after twice that each time. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** A session that played this long was well: the next loss is the first again. */
const WELL_MS = 10_000;
/** Shorter standstills are not worth a word. */
const STALL_SHOWN_AFTER_MS = 400;
const LATENCY_SHOWN_EVERY_MS = 500;

const video = /** @type {HTMLVideoElement} */ (document.getElementById('video'));
/** Relative to the page, so that a proxy may put us under a path of its own. */
const indexUrl = new URL(`../hls/${location.pathname.split('/').at(-1)}/index.m3u8`, location.href).href;
/** @type {Engine | undefined} */
let engine;

document.documentElement.dataset.muted = 'auto';
wireControls(video, () => engine?.goLive());
const quality = wireQuality();
followPicture();
setInterval(() => {
  if (document.documentElement.dataset.state === 'playing') showLatency(engine?.latencyS());
}, LATENCY_SHOWN_EVERY_MS);
await playForEver();

/** Sessions come and go; the page stays. */
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
    // What this browser cannot play is tried again, since it may get a variant that it can; until then the page stays as it is.
    if (outcome !== 'unsupported') showState(wantsPause ? 'paused' : 'waiting');
    // Another session, another picture: the same address would not be loaded again.
    if (hasThumbnail) video.poster = new URL(`thumbnail.jpg?${session}`, indexUrl).href;
    else video.removeAttribute('poster');
    const startedAt = performance.now();
    engine = play(video, indexUrl, quality);
    if (!wantsPause) void startPicture();
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

/** Starts playing: with the sound as it is, else without, else at a press of the play button. */
async function startPicture() {
  try {
    await video.play();
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'NotAllowedError') return; // the engine reports what is wrong
    if (video.muted) return showState('paused');
    document.documentElement.dataset.muted = 'auto';
    video.muted = true;
    await startPicture();
  }
}

/** Shows whether the picture moves, as long as something is being played. */
function followPicture() {
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

/** @param {number} pauseMs @returns {Promise<void>} */
function pause(pauseMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
