// @ts-check
/**
 * What is recorded of the stream, or the recording that the page is about.
 */

/**
 * @typedef {object} Recording
 * @property {'stream' | 'asset'} of whether the page is about a stream whose newest session is recorded, or about the recording itself
 * @property {string} folder the URL of its files, with a slash at the end
 * @property {string} name
 * @property {boolean} running whether it still grows
 * @property {number | null} from the wall-clock time of its first frame, in milliseconds; null until that is known
 * @property {number} duration seconds so far
 * @property {readonly { file: string, height?: number }[]} downloads
 */

/**
 * Asks for the recording. Undefined when nothing is recorded, or nothing that this viewer may watch, or there is no answer.
 * @param {string} url
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
 * The file that a viewer downloads: the largest video, or else the audio.
 * @param {Recording} recording
 */
export function largestDownload({ downloads }) {
  return downloads.toSorted((a, b) => (b.height ?? 0) - (a.height ?? 0))[0]?.file;
}
