// @ts-check
/**
 * The player page: waits for the stream, plays it, and starts again whatever happens to it. When the stream is recorded, viewers can seek
 * back and return to live. The page of a recording or clip plays only that.
 */
import { wireControls } from './controls.js';
import { loadEngine } from './engine.js';
import { momentInAddress } from './moment.js';
import { wireQuality } from './quality.js';
import { askForFile, findRecording, largestDownload } from './recording.js';
import { OFFLINE_WORDINGS, showLatency, showState } from './state.js';
import { wireTimeline } from './timeline.js';
import { waitForStream } from './wait-for-stream.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Outcome} Outcome */
/** @typedef {import('./engine.js').StartAt} StartAt */

/** The pauses before a lost session is started again: each is twice the one before, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** After a session that was played for this long, the pauses begin with the first again. */
const WELL_MS = 10_000;
/** How much of a recording is skipped where it could not be decoded twice. */
const SKIPPED_S = 2;
/** Stalls that are shorter are not shown. */
const STALL_SHOWN_AFTER_MS = 400;
const POSITION_SHOWN_EVERY_MS = 500;
const FAILURE_SHOWN_MS = 15_000;
/**
 * How long after an answer the page asks again whether the stream is recorded. The shorter time is for a recording that has no frame yet,
 * and for a server that could not answer.
 */
const RECORDING_ASKED_AFTER_MS = 15_000;
const SOON_ASKED_AFTER_MS = 2000;

const page = document.documentElement.dataset;
const video = /** @type {HTMLVideoElement} */ (document.getElementById('video'));
/** The URL of the stream's files. It is relative to the page, so that a proxy may serve Millrace below another path. */
const folder = new URL(`../hls/${location.pathname.split('/').at(-1)}/`, location.href);
/**
 * The query with the viewer's right, for a stream that is not public. Links have it after the `#`, which browsers do not send to servers.
 */
const right = rightOf(location.hash);
const indexUrl = new URL(`index.m3u8${right}`, folder).href;
/** @type {Engine | undefined} */
let engine;
/** The recording, as far as the page knows. @type {import('./recording.js').Recording | undefined} */
let recording;
/** When the page may ask for the recording again. Never while a request is in progress. */
let askForRecordingFrom = Number.NEGATIVE_INFINITY;
/** Whether a recording was found before. The moment that the address names is where the first one begins. */
let hasBegun = false;
/** What the viewer wants to see: the live stream, or the recording from a position on. @type {'live' | StartAt} */
let wanted = 'live';
/** The position of the video that a replay has reached, in seconds. Where media cannot be decoded, the video itself forgets it. */
let reachedS = 0;
/** Aborted to end playback or a wait, because the viewer wants to see something else. */
let switching = new AbortController();

page.muted = 'auto';
page.mode = 'live';
wireControls(video, {
  resume: () => {
    if (wanted === 'live') engine?.goLive();
  },
  goLive,
  seekBy: (seconds) => timeline.seekBy(seconds),
});
const timeline = wireTimeline(seek);
const quality = wireQuality();
const replayButton = /** @type {HTMLButtonElement} */ (document.getElementById('replay'));
replayButton.addEventListener('click', () => want({ positionS: 0 }));
const downloadButton = /** @type {HTMLButtonElement} */ (document.getElementById('download'));
downloadButton.addEventListener('click', () => void download());
const downloadStatus = /** @type {HTMLElement} */ (document.getElementById('download-status'));
/** Whether the server is being asked for a download. */
let isAsking = false;
/** The timer that ends the display of a failed download. @type {ReturnType<typeof setTimeout> | undefined} */
let failing;
showPlayback();
setInterval(showPosition, POSITION_SHOWN_EVERY_MS);
// Another link to the same stream may differ only in its fragment, and browsers do not load a page again when only the fragment changes.
addEventListener('hashchange', () => location.reload());
await playForEver();

/** Plays one session after another, and the recording when the viewer seeks back. */
async function playForEver() {
  const play = await loadEngine({ onFailure: () => showState('offline', OFFLINE_WORDINGS.unreachable) });
  if (!play) return;
  /** @type {string | undefined} */
  let endedSession;
  /** @type {Outcome | undefined} */
  let outcome;
  let losses = 0;
  let wantsPause = false;
  for (;;) {
    const { signal } = switching;
    const switched = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve('switched'), { once: true });
    });
    const startAt = wanted === 'live' ? undefined : wanted;
    const shown = recording;
    page.mode = startAt ? 'replay' : 'live';
    if (startAt && !shown) {
      want('live');
      continue;
    }
    let url = indexUrl;
    let session = '';
    if (startAt && shown) {
      url = fileUrl(shown, 'index.m3u8');
      video.poster = fileUrl(shown, 'poster.jpg');
      showState(wantsPause ? 'paused' : 'waiting');
    } else {
      const found = await waitForStream(indexUrl, {
        after: endedSession,
        signal,
        onAbsent: (absence) => {
          outcome = undefined;
          if (absence === 'offline') void askForRecording();
          const reason = absence === 'offline' && endedSession !== undefined ? 'ended' : absence;
          showState('offline', OFFLINE_WORDINGS[reason]);
        },
      });
      if (!found) continue;
      session = found.session;
      // An unsupported stream is tried again, because it may get a variant that this browser can play. Until then the page stays as it is.
      if (outcome !== 'unsupported') showState(wantsPause ? 'paused' : 'waiting');
      // The session in the query makes the browser load another picture for another session.
      if (found.hasThumbnail) {
        video.poster = new URL(`thumbnail.jpg${right}${right === '' ? '?' : '&'}${session}`, folder).href;
      } else video.removeAttribute('poster');
      void askForRecording();
    }
    const startedAt = performance.now();
    reachedS = 0;
    engine = play(video, url, quality, startAt);
    if (!wantsPause) void startPlaying();
    const end = await Promise.race([engine.outcome, switched]);
    outcome = end === 'switched' ? undefined : end;
    wantsPause = end !== 'switched' && page.state === 'paused';
    // A replay that was interrupted continues at the same position. One that had not begun still starts where it was wanted.
    if (startAt && end !== 'switched' && reachedS > 0) {
      const skippedS = end === 'damaged' ? SKIPPED_S : 0;
      wanted = { positionS: engine.zeroS() + Math.min(reachedS + skippedS, engine.endS() || Infinity) };
    }
    engine.stop();
    engine = undefined;
    showLatency(undefined);
    if (outcome === 'ended') endedSession = session;
    if (outcome === 'unsupported') showState('unsupported');
    losses = end === 'ended' || end === 'switched' || performance.now() - startedAt > WELL_MS ? 0 : losses + 1;
    if (losses > 0 || outcome === 'unsupported') await pause(Math.min(FIRST_PAUSE_MS * 2 ** losses, LONGEST_PAUSE_MS));
  }
}

/** Switches to what the viewer wants to see. @param {'live' | StartAt} next */
function want(next) {
  wanted = next;
  switching.abort();
  switching = new AbortController();
}

function goLive() {
  timeline.cancel();
  if (wanted !== 'live' && page.live !== undefined) return want('live');
  engine?.goLive();
  video.play().catch(() => {}); // refused: the page still shows that it is paused
}

/**
 * Seeks to a position of the time line, in seconds from the start of the recording.
 * @param {number | 'live'} position
 * @param {boolean} isLive whether it is on the time line of the live stream, which stays until a replay has begun
 */
function seek(position, isLive) {
  if (position === 'live') return goLive();
  const from = recording?.from;
  // On the time line of a live stream positions are counted in wall-clock time, but the recording leaves pauses out. So a replay begins at a
  // wall-clock time.
  if (isLive && typeof from === 'number') want({ dateMs: from + position * 1000 });
  else if (page.mode === 'replay' && engine && engine.endS() > 0) video.currentTime = position - engine.zeroS();
  else want({ positionS: position });
}

/** Asks from time to time whether something is recorded, and shows the time line if so. */
async function askForRecording() {
  if (performance.now() < askForRecordingFrom) return;
  askForRecordingFrom = Number.POSITIVE_INFINITY;
  const answer = await findRecording(new URL(`recording.json${right}`, folder).href);
  const isSoon = answer === 'unknown' || (answer !== 'none' && answer.from === null);
  askForRecordingFrom = performance.now() + (isSoon ? SOON_ASKED_AFTER_MS : RECORDING_ASKED_AFTER_MS);
  // Everything stays as it is until the server can say what is recorded.
  if (answer === 'unknown') return;
  const found = answer === 'none' ? undefined : answer;
  // A replay that is being watched stays, also when the next session has begun in the meantime.
  if (page.mode === 'replay' && found?.folder !== recording?.folder) return;
  recording = found;
  const isLive = found === undefined || (found.of === 'stream' && found.running);
  if (isLive) page.live = '';
  else delete page.live;
  timeline.use(found ? fileUrl(found, 'storyboard.vtt') : '', found?.running ?? false);
  replayButton.hidden = found === undefined;
  downloadButton.hidden = found === undefined || largestDownload(found) === undefined;
  const moment = hasBegun || !found || found.from === null ? undefined : momentInAddress(location.search, found);
  hasBegun ||= found !== undefined && found.from !== null;
  if (found?.of !== 'asset') {
    if (moment) want(moment);
    return;
  }
  document.title = `${found.name} · Millrace`;
  if (wanted === 'live') want(moment ?? { positionS: found.running ? 0 : -1 });
}

/**
 * Downloads the recording as it is now. The browser stays on the page, because the answer is a download. Any other answer would replace the
 * page, so the page asks first.
 */
async function download() {
  const file = recording && largestDownload(recording);
  if (!recording || !file || isAsking) return;
  const url = new URL(fileUrl(recording, file));
  url.searchParams.set('download', recording.name);
  clearTimeout(failing);
  downloadStatus.textContent = 'The download is being prepared.';
  isAsking = true;
  const status = await askForFile(url);
  isAsking = false;
  downloadStatus.textContent = '';
  if (status === 200) return location.assign(url);
  const isRefused = status === 401 || status === 403;
  downloadStatus.textContent =
    (isRefused && OFFLINE_WORDINGS.refused?.detail) || 'The recording cannot be downloaded right now.';
  failing = setTimeout(() => {
    downloadStatus.textContent = '';
  }, FAILURE_SHOWN_MS);
}

/** @param {import('./recording.js').Recording} shown @param {string} name */
function fileUrl(shown, name) {
  return new URL(`${name}${right}`, shown.folder).href;
}

/** Shows the latency, and the position in the recording. Until what the viewer wants has begun, the time line shows what is wanted. */
function showPosition() {
  if ((page.mode === 'replay') !== (wanted !== 'live')) return;
  if (page.mode === 'replay') {
    const endS = engine?.endS() ?? 0;
    const zeroS = engine?.zeroS() ?? 0;
    if (endS > 0) timeline.show({ positionS: zeroS + video.currentTime, endS: zeroS + endS, isLive: false });
    if (recording?.running) void askForRecording();
    return;
  }
  if (page.state === 'playing') showLatency(engine?.latencyS());
  if (!engine) {
    const endS = recording?.duration ?? 0;
    timeline.show({ positionS: endS, endS, isLive: false });
    return;
  }
  void askForRecording();
  const dateMs = engine.dateMs();
  if (dateMs === undefined || typeof recording?.from !== 'number') return;
  const endS = Math.max(0, (dateMs - recording.from) / 1000);
  timeline.show({ positionS: endS, endS, isLive: true });
}

/** Starts playing. When the browser refuses to play with audio, the video is muted. When it refuses that, too, the play button is shown. */
async function startPlaying() {
  try {
    await video.play();
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'NotAllowedError') return; // the engine reports other errors
    if (video.muted) return showState('paused');
    document.documentElement.dataset.muted = 'auto';
    video.muted = true;
    await startPlaying();
  }
}

/** Shows whether the video plays, stalls or is paused, while there is something to play. */
function showPlayback() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let stall;
  let moved = false;
  let lastTime = 0;
  const show = (/** @type {import('./state.js').State} */ state) => {
    clearTimeout(stall);
    // Browsers also pause a video that cannot be played.
    if (engine && !video.error && (!video.ended || page.mode === 'replay')) showState(state);
  };
  video.addEventListener('emptied', () => {
    moved = false;
    lastTime = 0;
  });
  for (const type of ['seeking', 'timeupdate']) {
    video.addEventListener(type, () => {
      reachedS = video.currentTime || reachedS;
    });
  }
  video.addEventListener('timeupdate', () => {
    if (video.paused || video.seeking || video.currentTime === lastTime) return;
    moved ||= lastTime > 0;
    lastTime = video.currentTime;
    if (moved) show('playing');
  });
  const onWaiting = () => {
    clearTimeout(stall);
    stall = setTimeout(() => show(moved ? 'stalled' : 'waiting'), STALL_SHOWN_AFTER_MS);
  };
  video.addEventListener('waiting', onWaiting);
  // A viewer who presses play while there is nothing to play waits for it.
  video.addEventListener('play', () => {
    if (page.state === 'paused') onWaiting();
  });
  video.addEventListener('pause', () => show('paused'));
}

/**
 * The query with a viewer's right; empty when there is none.
 * @param {string} fragment
 */
function rightOf(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  const shown = new URLSearchParams();
  for (const name of ['jwt', 'accessKey']) {
    const value = given.get(name);
    if (value) shown.set(name, value);
  }
  const query = String(shown);
  return query === '' ? '' : `?${query}`;
}

/** @param {number} pauseMs @returns {Promise<void>} */
function pause(pauseMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
