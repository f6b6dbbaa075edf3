// @ts-check
/**
 * Plays a session with hls.js where the browser has media source extensions, otherwise with the browser's own HLS (older iPhones).
 */
import { playWithHls } from './hls-engine.js';
import { playNatively } from './native-engine.js';

/**
 * Why playing a session stopped: `ended` when the session is over; `lost` when it must be started again; `unsupported` when this browser
 * decodes none of its formats.
 * @typedef {'ended' | 'lost' | 'unsupported'} Outcome
 */

/**
 * A session being played.
 * @typedef {object} Engine
 * @property {Promise<Outcome>} outcome settles once
 * @property {() => number | undefined} latencyS seconds by which the video is behind the camera
 * @property {() => number | undefined} dateMs the wall-clock time of the shown frame, in milliseconds
 * @property {() => number} endS the last position that can be played
 * @property {() => void} goLive jumps to the newest position that plays without a pause
 * @property {() => void} stop releases the video element
 */

/**
 * Where to begin in a recording: at a position, or at what was shown at a wall-clock time. The position -1 stands for where the recording
 * itself says, which is the start, and in a clip the moment that it begins with.
 * @typedef {{ positionS: number } | { dateMs: number }} StartAt
 */

/**
 * Plays a session, or a recording if there is a position to start at. A recording that is played to its end can still be sought in.
 * @typedef {(video: HTMLVideoElement, url: string, quality: import('./quality.js').Quality, startAt?: StartAt) => Engine} Play
 */

/**
 * Loads what this browser needs; call it once, early.
 * @returns {Promise<Play>} the browser's own HLS chooses among variants itself and offers none
 */
export async function loadEngine() {
  if ('MediaSource' in globalThis || 'ManagedMediaSource' in globalThis) {
    const Hls = await loadHls();
    if (Hls.isSupported()) return (...what) => playWithHls(Hls, ...what);
  }
  return playNatively;
}

/** The specifier is a variable because the file is beside this one only when it is served. Its types are those of the package. */
async function loadHls() {
  const beside = './hls.mjs';
  const module = /** @type {{ default: typeof import('hls.js').default }} */ (await import(beside));
  return module.default;
}
