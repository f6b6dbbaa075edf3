// @ts-check
/**
 * Plays one session with the browser's own HLS.
 */
import { watchForStuck } from './stuck.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Outcome} Outcome */

/** How many seconds before the end of the seekable range a jump lands. The browser keeps its own distance from the live edge. */
const EDGE_MARGIN_S = 1;
/** A video that has stood still this long is started again. The page cannot see whether the browser waits at a gap. */
const STUCK_MS = 10_000;

/**
 * @param {HTMLVideoElement} video
 * @param {string} url of `index.m3u8`
 * @returns {Engine}
 */
export function playNatively(video, url) {
  const { promise: outcome, resolve } = /** @type {PromiseWithResolvers<Outcome>} */ (Promise.withResolvers());
  const listening = new AbortController();
  video.addEventListener('ended', () => resolve('ended'), { signal: listening.signal });
  video.addEventListener('error', () => resolve('lost'), { signal: listening.signal });
  const stopWatching = watchForStuck(
    video,
    () => STUCK_MS,
    () => resolve('lost'),
  );
  video.src = url;
  return {
    outcome,
    latencyS: () => {
      // Safari only: the wall-clock time of media time 0, from EXT-X-PROGRAM-DATE-TIME.
      const start = /** @type {{ getStartDate?: () => Date }} */ (video).getStartDate?.().getTime() ?? Number.NaN;
      return Number.isFinite(start) ? (Date.now() - start) / 1000 - video.currentTime : undefined;
    },
    goLive: () => {
      const { seekable } = video;
      if (seekable.length > 0) video.currentTime = seekable.end(seekable.length - 1) - EDGE_MARGIN_S;
    },
    stop: () => {
      listening.abort();
      stopWatching();
      video.removeAttribute('src');
      video.load();
    },
  };
}
