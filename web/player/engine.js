// @ts-check
/**
 * What plays a session: hls.js where the browser has media source extensions, else the browser's own HLS (older iPhones).
 */
import { playWithHls } from './hls-engine.js';
import { playNatively } from './native-engine.js';

/**
 * How playing a session came to its end: `ended` by the publisher; `lost`, so that it must be begun anew; `unsupported`, since
 * this browser decodes none of its formats.
 * @typedef {'ended' | 'lost' | 'unsupported'} Outcome
 */

/**
 * A session being played.
 * @typedef {object} Engine
 * @property {Promise<Outcome>} outcome settles once
 * @property {() => number | undefined} latencyS seconds the picture is behind the camera's
 * @property {() => void} goLive jumps to the newest picture that plays without a pause
 * @property {() => void} stop lets go of the video element
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

/** The specifier is a variable since the file lies beside this one only when served; its types are the package's. */
async function loadHls() {
  const beside = './hls.mjs';
  const module = /** @type {{ default: typeof import('hls.js').default }} */ (await import(beside));
  return module.default;
}
