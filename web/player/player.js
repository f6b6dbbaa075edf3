// @ts-check
/**
 * The player page: waits for the stream, plays it, and starts again whatever happens to it. Where the stream is recorded, a viewer may go
 * back in it and return to live. The page of a recording plays only that.
 */
import { wireControls } from './controls.js';
import { loadEngine } from './engine.js';
import { wireQuality } from './quality.js';
import { findRecording, largestDownload } from './recording.js';
import { OFFLINE_WORDINGS, showLatency, showState } from './state.js';
import { wireTimeline } from './timeline.js';
import { waitForStream } from './wait-for-stream.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Outcome} Outcome */
/** @typedef {import('./engine.js').StartAt} StartAt */

/** The pauses before a lost session is started again: each is twice the one before, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** After a session that lasted this long, the pauses start from the first again. */
const WELL_MS = 10_000;
/** Shorter stalls are not shown. */
const STALL_SHOWN_AFTER_MS = 400;
const POSITION_SHOWN_EVERY_MS = 500;
/** How often the page asks whether the stream is recorded, and how often while a recording has no frame yet. */
const RECORDING_ASKED_EVERY_MS = 15_000;
const BEGINNING_ASKED_EVERY_MS = 2000;

const page = document.documentElement.dataset;
const video = /** @type {HTMLVideoElement} */ (document.getElementById('video'));
/** Relative to the page, so that a proxy may put us under a path of its own. */
const folder = new URL(`../hls/${location.pathname.split('/').at(-1)}/`, location.href);
/** The viewer's right, if the stream is not public, from `#jwt=...` or `#accessKey=...`. Browsers do not send fragments to servers. */
const right = rightOf(location.hash);
const indexUrl = new URL(`index.m3u8${right}`, folder).href;
/** @type {Engine | undefined} */
let engine;
/** What is recorded, as far as the page knows. @type {import('./recording.js').Recording | undefined} */
let recording;
let recordingAskedAt = Number.NEGATIVE_INFINITY;
/** What the viewer wants to see: the live stream, or the recording from somewhere. @type {'live' | StartAt} */
let wanted = 'live';
/** Ends what is played or waited for, because the viewer wants something else. */
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
downloadButton.addEventListener('click', download);
showPlayback();
setInterval(showPosition, POSITION_SHOWN_EVERY_MS);
// Another link to the same stream differs only in its fragment, and a change of that does not make a browser load the page again.
addEventListener('hashchange', () => location.reload());
await playForEver();

/** Plays one session after another, and the recording when the viewer goes back. */
async function playForEver() {
  const play = await loadEngine();
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
      showState('waiting');
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
      // An unsupported stream is tried again, since it may get a variant that this browser can play. Until then the page stays as it is.
      if (outcome !== 'unsupported') showState(wantsPause ? 'paused' : 'waiting');
      // Another session, another picture: the same address would not be loaded again.
      if (found.hasThumbnail) {
        video.poster = new URL(`thumbnail.jpg${right}${right === '' ? '?' : '&'}${session}`, folder).href;
      } else video.removeAttribute('poster');
      void askForRecording();
    }
    const startedAt = performance.now();
    engine = play(video, url, quality, startAt);
    if (!wantsPause) void startPlaying();
    const end = await Promise.race([engine.outcome, switched]);
    outcome = end === 'switched' ? undefined : end;
    wantsPause = end !== 'switched' && page.state === 'paused';
    // A replay goes on where it was lost.
    if (startAt && end !== 'switched') wanted = { positionS: video.currentTime };
    engine.stop();
    engine = undefined;
    showLatency(undefined);
    if (outcome === 'ended') endedSession = session;
    if (outcome === 'unsupported') showState('unsupported');
    losses = end === 'ended' || end === 'switched' || performance.now() - startedAt > WELL_MS ? 0 : losses + 1;
    if (losses > 0 || outcome === 'unsupported') await pause(Math.min(FIRST_PAUSE_MS * 2 ** losses, LONGEST_PAUSE_MS));
  }
}

/** @param {'live' | StartAt} next */
function want(next) {
  wanted = next;
  switching.abort();
  switching = new AbortController();
}

function goLive() {
  if (wanted !== 'live' && page.live !== undefined) return want('live');
  engine?.goLive();
  video.play().catch(() => {}); // refused: the page still shows that it is paused
}

/** @param {number | 'live'} position */
function seek(position) {
  if (position === 'live') return goLive();
  if (page.mode === 'replay' && engine) {
    video.currentTime = position;
    return;
  }
  // The live stream knows wall-clock times, and the recording leaves pauses out, so only the time says where to begin.
  const from = recording?.from;
  want(engine && typeof from === 'number' ? { dateMs: from + position * 1000 } : { positionS: position });
}

/** Asks from time to time whether something is recorded, and shows the time line if so. */
async function askForRecording() {
  const everyMs = recording?.from === null ? BEGINNING_ASKED_EVERY_MS : RECORDING_ASKED_EVERY_MS;
  if (performance.now() - recordingAskedAt < everyMs) return;
  recordingAskedAt = performance.now();
  const found = await findRecording(new URL(`recording.json${right}`, folder).href);
  // What is being watched stays, also when the next session has begun in the meantime.
  if (page.mode === 'replay' && found?.folder !== recording?.folder) return;
  recording = found;
  const isLive = found === undefined || (found.of === 'stream' && found.running);
  if (isLive) page.live = '';
  else delete page.live;
  timeline.use(found ? fileUrl(found, 'storyboard.vtt') : '', found?.running ?? false);
  replayButton.hidden = found === undefined;
  downloadButton.hidden = found === undefined || largestDownload(found) === undefined;
  if (found?.of !== 'asset') return;
  document.title = `${found.name} · Millrace`;
  if (wanted === 'live') want({ positionS: found.running ? 0 : -1 });
}

/** Saves the recording as it is now. The answer is a download, so the page stays. */
function download() {
  const file = recording && largestDownload(recording);
  if (!recording || !file) return;
  const url = new URL(fileUrl(recording, file));
  url.searchParams.set('download', recording.name);
  location.assign(url);
}

/** @param {import('./recording.js').Recording} shown @param {string} name */
function fileUrl(shown, name) {
  return new URL(`${name}${right}`, shown.folder).href;
}

/** Shows how far behind the camera the video is, and where it is in the recording. */
function showPosition() {
  if (page.mode === 'replay') {
    if (engine) timeline.show({ positionS: video.currentTime, endS: engine.endS(), isLive: false });
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

/** Starts playing with audio as it is, otherwise muted, otherwise when the play button is pressed. */
async function startPlaying() {
  try {
    await video.play();
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'NotAllowedError') return; // the engine reports what is wrong
    if (video.muted) return showState('paused');
    document.documentElement.dataset.muted = 'auto';
    video.muted = true;
    await startPlaying();
  }
}

/** Shows whether the video plays, stalls or is paused, as long as there is a session. */
function showPlayback() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let stall;
  let moved = false;
  let lastTime = 0;
  const show = (/** @type {import('./state.js').State} */ state) => {
    clearTimeout(stall);
    if (engine && (!video.ended || page.mode === 'replay')) showState(state);
  };
  video.addEventListener('emptied', () => {
    moved = false;
    lastTime = 0;
  });
  video.addEventListener('timeupdate', () => {
    if (video.paused || video.seeking || video.currentTime === lastTime) return;
    moved ||= lastTime > 0;
    lastTime = video.currentTime;
    if (moved) show('playing');
  });
  video.addEventListener('waiting', () => {
    clearTimeout(stall);
    stall = setTimeout(() => show(moved ? 'stalled' : 'waiting'), STALL_SHOWN_AFTER_MS);
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
  return shown.size === 0 ? '' : `?${shown}`;
}

/** @param {number} pauseMs @returns {Promise<void>} */
function pause(pauseMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
