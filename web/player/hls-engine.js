// @ts-check
/**
 * Plays one session, or a recording of one, with hls.js: from `index.m3u8` until it is over or has to be started again.
 */
import { pendingOutcome } from './outcome.js';
import { beginningOf, positionToBegin } from './recording-position.js';
import { watchForStuck } from './stuck.js';
import { listVariants, renditionOf } from './variants.js';

/** @typedef {import('hls.js').default} Hls */
/** @typedef {typeof import('hls.js').default} HlsClass */

/** @typedef {import('hls.js').Level} Level */
/** @typedef {import('./engine.js').Engine} Engine */

/**
 * Two more attempts within a second. After that the page requests `index.m3u8` again, which also finds a new session.
 * @type {import('hls.js').RetryConfig}
 */
const RETRY = {
  maxNumRetry: 2,
  retryDelayMs: 500,
  maxRetryDelayMs: 500,
  backoff: 'linear',
  // Also when there was no answer at all, which hls.js takes as final: a phone may lose its network for a moment.
  shouldRetry: (config, count, _isTimeout, response, retry) =>
    retry || (response?.code === 0 && count < (config?.maxNumRetry ?? 0)),
};
/** The server holds a request for at most 3 target durations. A request that takes longer has lost its connection. */
const LOAD_POLICY = {
  default: { maxTimeToFirstByteMs: 15_000, maxLoadTimeMs: 20_000, timeoutRetry: RETRY, errorRetry: RETRY },
};

/** What differs from hls.js's defaults. The target latency is the playlist's own PART-HOLD-BACK. */
const CONFIG = {
  lowLatencyMode: true,
  maxLiveSyncPlaybackRate: 1.05,
  liveSyncOnStallIncrease: 0.25, // seconds; the default of 1 would double the latency at the first stall
  liveDurationInfinity: true,
  backBufferLength: 15,
  maxBufferLength: 15,
  enableWorker: false, // fMP4 is passed through, not remuxed: nothing worth a thread
  enableInterstitialPlayback: false,
  manifestLoadPolicy: LOAD_POLICY,
  playlistLoadPolicy: LOAD_POLICY,
  fragLoadPolicy: LOAD_POLICY,
};

/** A recording is played like any other video. While it runs, segments are only added to its playlist. */
const REPLAY_CONFIG = {
  ...CONFIG,
  autoStartLoad: false, // loading starts once the position is known
  lowLatencyMode: false,
  maxLiveSyncPlaybackRate: 1,
  liveDurationInfinity: false,
};
/**
 * A replay that has stood still this long is started again. It is long, because at the end of a running recording a replay waits for
 * segments.
 */
const REPLAY_STUCK_MS = 20_000;
/** When playback is this many seconds behind the target latency, it jumps. Catching up by playing faster would take a minute. */
const JUMP_BEHIND_S = 3;
/** A video that has stood still this long although there is media to play will not go on by itself. */
const STUCK_MS = 6000;
/** A video that has stood still this long in an ended playlist has reached its end. */
const END_MS = 1000;
/** A replay begins at least this many seconds after the start of the recording, because audio may begin a few frames after the video. */
const INSIDE_S = 0.1;
/** How often the variant that the viewer chose is set again: after an error hls.js switches to another variant, and does not return. */
const RETURN_EVERY_MS = 5000;
/** How often variants are looked for that were not listed when playback began. hls.js reads the multivariant playlist only once. */
const LISTED_EVERY_MS = 10_000;

/**
 * Plays a session or recording; see `Play` in `engine.js`.
 * @param {HlsClass} Hls
 * @param {HTMLVideoElement} video
 * @param {string} url the URL of `index.m3u8`
 * @param {import('./quality.js').Quality} quality
 * @param {import('./engine.js').StartAt} [startAt] where to begin in a recording
 * @returns {Engine}
 */
export function playWithHls(Hls, video, url, quality, startAt) {
  const { outcome, resolve } = pendingOutcome();
  const hls = new Hls({
    ...(startAt ? REPLAY_CONFIG : CONFIG),
    // hls.js can begin with one complete segment. Without a directive the server waits for two, which other players need.
    xhrSetup: (xhr, requested) => {
      if (!startAt && requested !== url && requested.endsWith('.m3u8')) xhr.open('GET', `${requested}?_HLS_msn=0`);
    },
  });

  /** Whether the viewer wants the video to play. Browsers also pause a video that cannot be decoded, and one that is loaded anew. */
  let isPlaying = !video.paused;
  const onPlay = () => {
    isPlaying = true;
  };
  const onPause = () => {
    isPlaying &&= Boolean(video.error);
  };
  video.addEventListener('play', onPlay);
  video.addEventListener('pause', onPause);
  let hasReset = false;
  hls.on(Hls.Events.ERROR, (_event, { fatal, type, details }) => {
    const { MANIFEST_INCOMPATIBLE_CODECS_ERROR, MEDIA_SOURCE_REQUIRES_RESET } = Hls.ErrorDetails;
    if (fatal && details === MANIFEST_INCOMPATIBLE_CODECS_ERROR) return resolve('unsupported');
    const isReset = details === MEDIA_SOURCE_REQUIRES_RESET;
    if (fatal || (isReset && hasReset)) return resolve(type === Hls.ErrorTypes.MEDIA_ERROR ? 'damaged' : 'lost');
    if (!isReset) return;
    // hls.js has begun anew at the same position, with another variant from now on if there is one, but leaves the video paused. It would do
    // so for ever where no variant can be decoded.
    hasReset = true;
    if (isPlaying) video.play().catch(() => {});
  });
  hls.on(Hls.Events.LEVEL_UPDATED, () => {
    if (startAt) return;
    // Not in the constructor, which accepts this only with a liveSyncDuration, which would override PART-HOLD-BACK.
    hls.config.liveMaxLatencyDuration = (hls.targetLatency ?? 0) + JUMP_BEHIND_S;
  });

  /** @type {string | undefined} */
  let chosen;
  /** The level (hls.js's word for a variant) to load from the start of the next segment on. @type {number | undefined} */
  let nextLevel;
  const load = () => {
    const level = hls.levels.findIndex(({ uri }) => renditionOf(uri) === chosen); // -1 is auto
    if (level !== -1 && hls.latestLevelDetails?.partList) nextLevel = level;
    else hls.loadLevel = level;
  };
  let isStopped = false;
  /** The variants that the multivariant playlist lists and hls.js did not read. @type {readonly import('./quality.js').Variant[]} */
  let later = [];
  const offer = () =>
    quality.offer([...hls.levels.map(variantOf), ...later], (id) => {
      if (later.some((variant) => variant.id === id)) return resolve('lost');
      chosen = id;
      nextLevel = undefined;
      load();
    });
  hls.on(Hls.Events.MANIFEST_PARSED, () => {
    offer();
    if (startAt) void begin(startAt);
  });
  /** The ids of the variants that hls.js read, also of those that this browser cannot decode. @type {ReadonlySet<string>} */
  let read = new Set();
  hls.on(Hls.Events.MANIFEST_LOADED, (_event, { levels }) => {
    read = new Set(levels.map((level) => renditionOf(level.url)));
  });
  const look = async () => {
    if (startAt || read.size === 0) return;
    const listed = (await listVariants(url)).filter(({ id }) => !read.has(id));
    if (isStopped || namesOf(listed) === namesOf(later)) return;
    later = listed;
    offer();
  };
  const looking = setInterval(() => void look(), LISTED_EVERY_MS);
  let zeroS = 0;
  const begin = async (/** @type {import('./engine.js').StartAt} */ at) => {
    // The video counts positions from the beginning of the variant that is loaded first. A recording begins with its source. Another variant
    // may begin later, because its transcoder started later.
    const first = hls.levels[hls.startLevel] ?? hls.levels[0];
    const source = hls.levels.find(({ uri }) => renditionOf(uri) === 'source') ?? first;
    const playlist = first !== source || 'dateMs' in at ? await loadPlaylist(first?.uri) : '';
    if (first !== source) zeroS = beginningOf(playlist, await loadPlaylist(source?.uri));
    const positionS =
      'dateMs' in at ? positionToBegin(playlist, at.dateMs) : at.positionS < 0 ? -1 : Math.max(0, at.positionS - zeroS);
    // Before the start of a running recording's first variant, which may be aligned to audio that begins a little later, hls.js would begin
    // near the end. A negative position leaves the choice to the playlist.
    if (!isStopped) hls.startLoad(positionS < 0 ? positionS : Math.max(positionS, INSIDE_S));
  };
  hls.on(Hls.Events.LEVEL_UPDATED, (_event, { details }) => {
    // Switched in the middle of a segment, hls.js would load the new variant from the start of that segment and replace media that is being
    // played. The video would then stand still from the end of the old buffer to the new variant's next keyframe.
    if (nextLevel === undefined || details.partList?.at(-1)?.index !== 0) return;
    hls.loadLevel = nextLevel;
    nextLevel = undefined;
  });
  const returning = setInterval(() => {
    if (chosen !== undefined && hls.autoLevelEnabled) load();
  }, RETURN_EVERY_MS);
  hls.on(Hls.Events.LEVEL_SWITCHING, (_event, { uri }) => quality.show(renditionOf(uri)));

  const hasEnded = () => hls.latestLevelDetails?.live === false;
  const onEnded = () => resolve('ended');
  if (!startAt) video.addEventListener('ended', onEnded);
  let hasBegun = false;
  const onBegun = () => {
    hasBegun = true;
  };
  video.addEventListener('loadeddata', onBegun);
  const stopWatching = watchForStuck(
    video,
    () =>
      startAt
        ? video.ended
          ? Infinity
          : REPLAY_STUCK_MS
        : hasEnded()
          ? END_MS
          : hls.latestLevelDetails
            ? STUCK_MS
            : Infinity,
    () => resolve(hasEnded() && !startAt ? 'ended' : 'lost'),
  );

  hls.attachMedia(video);
  hls.loadSource(url);

  return {
    outcome,
    latencyS: () => latencyS(hls),
    dateMs: () => hls.playingDate?.getTime(),
    endS: () => (hasBegun ? (hls.latestLevelDetails?.edge ?? 0) : 0),
    zeroS: () => zeroS,
    goLive: () => {
      if (hls.liveSyncPosition !== null) video.currentTime = hls.liveSyncPosition;
    },
    stop: () => {
      isStopped = true;
      stopWatching();
      clearInterval(returning);
      clearInterval(looking);
      video.removeEventListener('play', onPlay);
      video.removeEventListener('pause', onPause);
      video.removeEventListener('ended', onEnded);
      video.removeEventListener('loadeddata', onBegun);
      hls.destroy();
      quality.offer([], () => {});
    },
  };
}

/** @param {Level} level @returns {import('./quality.js').Variant} */
function variantOf(level) {
  const { width, height, frameRate: framesPerSecond, averageBitrate: bitrateBps } = level;
  return { id: renditionOf(level.uri), width, height, framesPerSecond, bitrateBps };
}

/** @param {readonly import('./quality.js').Variant[]} variants */
function namesOf(variants) {
  return variants.map(({ id }) => id).join(' ');
}

/** The text of a media playlist. Empty when it cannot be loaded. @param {string | undefined} url */
function loadPlaylist(url = '') {
  return fetch(url).then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  );
}

/**
 * The age of the shown frame by EXT-X-PROGRAM-DATE-TIME, if this machine's clock agrees with the server's. Otherwise the distance from the
 * end of the playlist, which does not include the time from the camera to the playlist.
 * @param {Hls} hls
 */
function latencyS(hls) {
  const { playingDate, latency } = hls;
  const ageS = playingDate ? (Date.now() - playingDate.getTime()) / 1000 : Number.NaN;
  if (ageS >= latency - 0.5 && ageS <= latency + 10) return ageS;
  return latency > 0 ? latency : undefined;
}
