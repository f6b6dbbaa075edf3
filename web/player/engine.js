// @ts-check
/**
 * Plays a session with hls.js where the browser has media source extensions, otherwise with the browser's own HLS (iPhones before iOS 17.1).
 * The oldest browsers in which the player works are those of `oldest-browser.test.ts`.
 */
import { playWithHls } from './hls-engine.js';
import { playNatively } from './native-engine.js';

/**
 * Why playback of a session stopped: `ended` when the session is over; `lost` when playback must be started again; `damaged` when it must be,
 * because media could not be decoded; `unsupported` when this browser can decode none of its formats.
 * @typedef {'ended' | 'lost' | 'damaged' | 'unsupported'} Outcome
 */

/**
 * The playback of a session or recording.
 * @typedef {object} Engine
 * @property {Promise<Outcome>} outcome settles once
 * @property {() => number | undefined} latencyS by how many seconds the video is behind the camera; undefined when this is not known
 * @property {() => number | undefined} dateMs the wall-clock time of the shown frame, in milliseconds; undefined when it is not known
 * @property {() => number} endS the last position that can be played, in seconds; 0 until the video is at the position where it begins
 * @property {() => number} zeroS the position in the recording at which the video counts 0, in seconds. It is not 0 where the video counts
 *   from the beginning of a variant that begins later than the recording
 * @property {() => void} goLive jumps to the newest position that plays without a pause
 * @property {() => void} stop stops playback and releases the video element
 */

/**
 * Where to begin in a recording: at a position in seconds, or at the frame of a wall-clock time in milliseconds. The position -1 stands for
 * the one that the playlist states: the start of a recording, and the first frame of a clip.
 * @typedef {{ positionS: number } | { dateMs: number }} StartAt
 */

/**
 * Plays a session, or a recording when `startAt` is given. After a recording has been played to its end, the viewer can still seek in it.
 * @typedef {(video: HTMLVideoElement, url: string, quality: import('./quality.js').Quality, startAt?: StartAt) => Engine} Play
 */

/** The pauses before hls.js is loaded again: each is twice the one before, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Loads the engine for this browser. Call it once, early.
 * @param {object} options
 * @param {() => void} options.onFailure called after each failed attempt. It is tried again until an attempt succeeds
 * @param {AbortSignal} [options.signal] ends the attempts
 * @returns {Promise<Play | undefined>} with the browser's own HLS, the browser chooses among variants, and offers the viewer no choice;
 *   undefined when the attempts were ended
 */
export async function loadEngine({ onFailure, signal }) {
  if ('MediaSource' in globalThis || 'ManagedMediaSource' in globalThis) {
    for (let failures = 0; ; failures += 1) {
      const Hls = await loadHls(failures);
      if (signal?.aborted) return undefined;
      if (Hls?.isSupported()) return (...what) => playWithHls(Hls, ...what);
      if (Hls) break;
      onFailure();
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS));
    }
  }
  return hasOwnHls() ? playNatively : playNothing;
}

/**
 * Loads hls.js. The specifier is a variable, because the file is beside this one only when it is served. Its types are those of the
 * package.
 * @param {number} failures how often it could not be loaded. Some browsers remember the failure, so another attempt needs another specifier
 * @returns {Promise<typeof import('hls.js').default | undefined>} undefined when it cannot be loaded now
 */
async function loadHls(failures) {
  const beside = failures === 0 ? './hls.mjs' : `./hls.mjs?${failures}`;
  try {
    return (await import(beside)).default;
  } catch {
    return undefined;
  }
}

/** Whether the browser plays HLS by itself. */
function hasOwnHls() {
  return document.createElement('video').canPlayType('application/vnd.apple.mpegurl') !== '';
}

/** The engine of a browser that cannot play HLS at all. @type {Play} */
function playNothing() {
  return {
    outcome: Promise.resolve(/** @type {const} */ ('unsupported')),
    latencyS: () => undefined,
    dateMs: () => undefined,
    endS: () => 0,
    zeroS: () => 0,
    goLive() {},
    stop() {},
  };
}

/** @param {number} pauseMs @returns {Promise<void>} */
function pause(pauseMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
