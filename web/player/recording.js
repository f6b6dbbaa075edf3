// @ts-check
/**
 * Asks the server for the recording of a stream, or for the recording of the page.
 */

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
 * Asks for the recording. Undefined when nothing is recorded that this viewer may watch, or when there is no answer.
 * @param {string} url the URL of `recording.json`
 * @returns {Promise<Recording | undefined>}
 */
export async function findRecording(url) {
  try {
    const response = await fetch(url);
    if (response.status !== 200) return undefined;
    const info = await response.json();
    return { ...info, folder: new URL(info.folder, url).href };
  } catch {
    return undefined;
  }
}

/**
 * The name of the file that viewers download: the video with the largest picture, otherwise the audio. Undefined when there is none.
 * @param {Recording} recording
 */
export function largestDownload({ downloads }) {
  return downloads.toSorted((a, b) => (b.height ?? 0) - (a.height ?? 0))[0]?.file;
}
