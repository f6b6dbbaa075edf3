// @ts-check
/**
 * Asks the server for the recording of a stream, or for the recording of the page.
 */
import { abortAfter } from './abort-after.js';

/** How long the answer may take. */
const LIMIT_MS = 10_000;

/**
 * @typedef {object} Recording
 * @property {'stream' | 'asset'} of whether the page is about a stream whose newest session is recorded, or about the recording itself
 * @property {string} folder the URL of its files, with a slash at the end
 * @property {string} name
 * @property {boolean} running whether it may still grow
 * @property {number | null} from the wall-clock time of its first frame, in milliseconds; null until that is known
 * @property {number} duration seconds of media so far
 * @property {readonly { file: string, height?: number }[]} downloads
 */

/**
 * Asks the server for the recording.
 * @param {string} url the URL of `recording.json`
 * @returns {Promise<Recording | 'none' | 'unknown'>} `none` when nothing is recorded that this viewer may watch, `unknown` when the server
 *   gave no usable answer
 */
export async function findRecording(url) {
  try {
    const response = await fetch(url, { signal: abortAfter(LIMIT_MS) });
    if (response.status === 204 || (response.status >= 400 && response.status < 500 && response.status !== 429)) {
      return 'none';
    }
    if (response.status !== 200) return 'unknown';
    const info = await response.json();
    return { ...info, folder: new URL(info.folder, url).href };
  } catch {
    return 'unknown';
  }
}

/**
 * The name of the file that viewers download: the video with the largest picture, otherwise the audio. Undefined when there is none.
 * @param {Recording} recording
 */
export function largestDownload({ downloads }) {
  return [...downloads].sort((a, b) => (b.height ?? 0) - (a.height ?? 0))[0]?.file;
}
