// @ts-check
/**
 * Plays a session with hls.js where the browser has media source extensions, otherwise with the browser's own HLS (older iPhones).
 */
import { playWithHls } from './hls-engine.js';
import { playNatively } from './native-engine.js';

/**
 * Why playback of a session stopped: `ended` when the session is over; `lost` when playback must be started again; `unsupported` when this
 * browser can decode none of its formats.
 * @typedef {'ended' | 'lost' | 'unsupported'} Outcome
 */

/**
 * The playback of a session or recording.
 * @typedef {object} Engine
 * @property {Promise<Outcome>} outcome settles once
 * @property {() => number | undefined} latencyS by how many seconds the video is behind the camera; undefined when this is not known
 * @property {() => number | undefined} dateMs the wall-clock time of the shown frame, in milliseconds; undefined when it is not known
 * @property {() => number} endS the last position that can be played, in seconds
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

/**
 * Loads the engine for this browser. Call it once, early.
 * @returns {Promise<Play>} with the browser's own HLS, the browser chooses among variants, and offers the viewer no choice
 */
export async function loadEngine() {
  if ('MediaSource' in globalThis || 'ManagedMediaSource' in globalThis) {
    const Hls = await loadHls();
    if (Hls.isSupported()) return (...what) => playWithHls(Hls, ...what);
  }
  return playNatively;
}

/**
 * Loads hls.js. The specifier is a variable, because the file is beside this one only when it is served. Its types are those of the
 * package.
 */
async function loadHls() {
  const beside = './hls.mjs';
  const module = /** @type {{ default: typeof import('hls.js').default }} */ (await import(beside));
  return module.default;
}
