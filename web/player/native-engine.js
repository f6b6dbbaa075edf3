// @ts-check
/**
 * Plays one session, or a recording of one, with the browser's own HLS.
 */
import { pendingOutcome } from './outcome.js';
import { watchForStuck } from './stuck.js';
import { listVariants } from './variants.js';

/** @typedef {import('./engine.js').Engine} Engine */

/** A jump lands this many seconds before the end of the seekable range. The browser keeps its own distance from the live edge. */
const EDGE_MARGIN_S = 1;
/** A video that has stood still this long is started again. The page cannot see whether the browser still waits for media. */
const STUCK_MS = 10_000;
/** The code of MediaError for media that cannot be decoded (MEDIA_ERR_DECODE). */
const DECODE_ERROR = 3;

/**
 * Plays a session or recording; see `Play` in `engine.js`.
 * @param {HTMLVideoElement} video
 * @param {string} url the URL of `index.m3u8`
 * @param {unknown} _quality not used, because the browser chooses the variant
 * @param {import('./engine.js').StartAt} [startAt] where to begin in a recording
 * @returns {Engine}
 */
export function playNatively(video, url, _quality, startAt) {
  const { outcome, resolve } = pendingOutcome();
  const listening = new AbortController();
  if (!startAt) video.addEventListener('ended', () => resolve('ended'), { signal: listening.signal });
  const onError = async () => resolve((await isDecodable(video, url)) ? 'lost' : 'unsupported');
  video.addEventListener('error', () => void onError(), { signal: listening.signal });
  /** The wall-clock time of media time 0, from EXT-X-PROGRAM-DATE-TIME, in milliseconds. Safari only. */
  const zeroMs = () => /** @type {{ getStartDate?: () => Date }} */ (video).getStartDate?.().getTime() ?? Number.NaN;
  const seek = () => {
    if (!startAt) return;
    const positionS = 'positionS' in startAt ? startAt.positionS : (startAt.dateMs - zeroMs()) / 1000;
    if (Number.isFinite(positionS) && positionS >= 0) video.currentTime = positionS;
  };
  video.addEventListener('loadedmetadata', seek, { signal: listening.signal, once: true });
  const seekableEndS = () => (video.seekable.length > 0 ? video.seekable.end(video.seekable.length - 1) : 0);
  const stopWatching = watchForStuck(
    video,
    () => (video.ended ? Infinity : STUCK_MS),
    () => resolve('lost'),
  );
  video.src = url;
  return {
    outcome,
    latencyS: () => {
      const start = zeroMs();
      return Number.isFinite(start) ? (Date.now() - start) / 1000 - video.currentTime : undefined;
    },
    dateMs: () => {
      const start = zeroMs();
      return Number.isFinite(start) ? start + video.currentTime * 1000 : undefined;
    },
    endS: seekableEndS,
    zeroS: () => 0,
    goLive: () => {
      if (video.seekable.length > 0) video.currentTime = seekableEndS() - EDGE_MARGIN_S;
    },
    stop: () => {
      listening.abort();
      stopWatching();
      video.removeAttribute('src');
      video.load();
    },
  };
}

/**
 * Whether the browser can decode any variant, asked after an error of the video. A browser states which formats it can decode, but may be
 * wrong, for example about 4:2:2 chroma. Decoding then fails before the first frame is shown.
 * @param {HTMLVideoElement} video
 * @param {string} url the URL of `index.m3u8`
 */
async function isDecodable(video, url) {
  if (video.error?.code === DECODE_ERROR && video.currentTime === 0) return false;
  const variants = await listVariants(url);
  // Without the multivariant playlist, the formats are not known.
  return (
    variants.length === 0 || variants.some(({ codecs }) => video.canPlayType(`video/mp4; codecs="${codecs}"`) !== '')
  );
}
