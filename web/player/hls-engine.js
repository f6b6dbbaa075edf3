// @ts-check
/**
 * Plays one session with hls.js, from `index.m3u8` until it is over or has to be begun anew.
 */
import { watchForStuck } from './stuck.js';

/** @typedef {import('hls.js').default} Hls */
/** @typedef {typeof import('hls.js').default} HlsClass */
/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Outcome} Outcome */

/** Three tries in three seconds; then the page asks for `index.m3u8` again, which also finds a new session. */
const QUICK_RETRY = {
  maxNumRetry: 3,
  retryDelayMs: 500,
  maxRetryDelayMs: 1500,
  backoff: /** @type {const} */ ('linear'),
};
/** The server holds a request for at most 3 target durations; slower than this is a dead connection. */
const LOAD_POLICY = {
  default: { maxTimeToFirstByteMs: 15_000, maxLoadTimeMs: 20_000, timeoutRetry: QUICK_RETRY, errorRetry: QUICK_RETRY },
};

/** What differs from hls.js 1.7's defaults. Its live target is the playlist's own PART-HOLD-BACK. */
const CONFIG = {
  lowLatencyMode: true,
  maxLiveSyncPlaybackRate: 1.05,
  /** Each stall moves the target this much back; the default of 1 s would double our latency at the first one. */
  liveSyncOnStallIncrease: 0.25,
  liveDurationInfinity: true,
  backBufferLength: 15,
  maxBufferLength: 15,
  enableWorker: false, // our fMP4 is passed through, not remuxed: nothing worth a thread
  enableInterstitialPlayback: false,
  manifestLoadPolicy: LOAD_POLICY,
  playlistLoadPolicy: LOAD_POLICY,
  fragLoadPolicy: LOAD_POLICY,
};

/** So far behind, playback jumps to the live edge instead of catching up by rate: seconds. */
const MAX_LATENCY_S = 10;
/** A second media error within this time is not one that resetting the decoder heals. */
const MEDIA_ERROR_SPACING_MS = 5000;

/**
 * @param {HlsClass} Hls
 * @param {HTMLVideoElement} video
 * @param {string} url of `index.m3u8`
 * @returns {Engine}
 */
export function playWithHls(Hls, video, url) {
  const hls = new Hls(CONFIG);
  // Only settable here: the constructor wants it beside liveSyncDuration, which would override PART-HOLD-BACK.
  hls.config.liveMaxLatencyDuration = MAX_LATENCY_S;
  const { promise: outcome, resolve } = /** @type {PromiseWithResolvers<Outcome>} */ (Promise.withResolvers());

  let lastMediaErrorAt = Number.NEGATIVE_INFINITY;
  hls.on(Hls.Events.ERROR, (_event, data) => {
    if (!data.fatal) return;
    if (data.details === Hls.ErrorDetails.MANIFEST_INCOMPATIBLE_CODECS_ERROR) return resolve('unsupported');
    const now = performance.now();
    if (data.type !== Hls.ErrorTypes.MEDIA_ERROR || now - lastMediaErrorAt < MEDIA_ERROR_SPACING_MS) {
      return resolve('lost');
    }
    lastMediaErrorAt = now;
    hls.recoverMediaError();
  });
  const onEnded = () => resolve('ended');
  video.addEventListener('ended', onEnded);

  const stopWatching = watchForStuck(
    video,
    () => edgeHasMedia(hls),
    () => resolve('lost'),
  );

  hls.attachMedia(video);
  hls.loadSource(url);

  return {
    outcome,
    latencyS: () => latencyS(hls),
    goLive: () => {
      if (hls.liveSyncPosition !== null) video.currentTime = hls.liveSyncPosition;
    },
    stop: () => {
      stopWatching();
      video.removeEventListener('ended', onEnded);
      hls.destroy();
    },
  };
}

/**
 * The age of the picture by EXT-X-PROGRAM-DATE-TIME, where this machine's clock makes sense beside the server's; otherwise the
 * distance from the playlist's end, which knows nothing of the way from the camera to there.
 * @param {Hls} hls
 */
function latencyS(hls) {
  const { playingDate, latency } = hls;
  const ageS = playingDate ? (Date.now() - playingDate.getTime()) / 1000 : Number.NaN;
  if (ageS >= latency - 0.5 && ageS <= latency + 10) return ageS;
  return latency > 0 ? latency : undefined;
}

/**
 * Whether the newest thing in the playlist is media: while a publisher is being waited for, it is a gap.
 * @param {Hls} hls
 */
function edgeHasMedia(hls) {
  const details = hls.latestLevelDetails;
  const newest = details?.partList?.at(-1) ?? details?.fragments.at(-1);
  return newest !== undefined && !newest.gap;
}
