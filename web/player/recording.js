// @ts-check
/**
 * Asks the server for the recording of a stream, or for the recording of the page.
 */
import { abortAfter } from './abort-after.js';

/** How long the answer may take. */
const LIMIT_MS = 10_000;
/** How long it may take until the server knows whether it delivers an MP4, whose head it may have to make first. */
const DOWNLOAD_LIMIT_MS = 30_000;

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
 * Asks the server whether it would deliver a file.
 * @param {URL} url
 * @returns {Promise<number>} the status of its answer; 0 when there is none
 */
export async function askForFile(url) {
  try {
    return (await fetch(url, { method: 'HEAD', signal: abortAfter(DOWNLOAD_LIMIT_MS) })).status;
  } catch {
    return 0;
  }
}

/**
 * The name of the file that viewers download: the video with the largest picture, otherwise the audio. Undefined when there is none.
 * @param {Recording} recording
 */
export function largestDownload({ downloads }) {
  return [...downloads].sort((a, b) => (b.height ?? 0) - (a.height ?? 0))[0]?.file;
}
