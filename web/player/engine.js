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
 * @property {() => void} goLive jumps to the newest position that plays without a pause
 * @property {() => void} stop releases the video element
 */

/**
 * Loads what this browser needs; call it once, early.
 * @returns {Promise<(video: HTMLVideoElement, url: string, quality: import('./quality.js').Quality) => Engine>} the browser's own HLS
 *   chooses among variants itself and offers none
 */
export async function loadEngine() {
  if ('MediaSource' in globalThis || 'ManagedMediaSource' in globalThis) {
    const Hls = await loadHls();
    if (Hls.isSupported()) return (video, url, quality) => playWithHls(Hls, video, url, quality);
  }
  return playNatively;
}

/** The specifier is a variable because the file is beside this one only when it is served. Its types are those of the package. */
async function loadHls() {
  const beside = './hls.mjs';
  const module = /** @type {{ default: typeof import('hls.js').default }} */ (await import(beside));
  return module.default;
}
