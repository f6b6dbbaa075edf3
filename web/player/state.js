// @ts-check
/**
 * The texts of the page in each state.
 */

/**
 * @typedef {'connecting' | 'offline' | 'waiting' | 'playing' | 'stalled' | 'paused' | 'unsupported'} State
 */

/**
 * @typedef {object} Wording
 * @property {string} title
 * @property {string} detail
 */

/** @type {Record<State, Wording>} */
const WORDINGS = {
  connecting: { title: 'Connecting…', detail: '' },
  offline: { title: 'The stream is offline', detail: 'It starts here by itself as soon as it is live.' },
  waiting: { title: 'Starting…', detail: '' },
  playing: { title: 'Live', detail: '' },
  stalled: { title: 'Reconnecting…', detail: 'Waiting for the video to come back.' },
  paused: { title: 'Paused', detail: '' },
  unsupported: {
    title: 'This browser cannot play the stream',
    detail: 'Its video format is not supported here. Another browser may play it.',
  },
};

/** Why the stream is offline, where there is more to say. @type {Record<string, Wording>} */
export const OFFLINE_WORDINGS = {
  ended: { title: 'The stream has ended', detail: 'If it comes back, it starts here by itself.' },
  full: { title: 'Too many viewers right now', detail: 'Trying again: it starts here by itself.' },
  refused: {
    title: 'This stream is not public',
    detail: 'Your link does not allow you to watch it, or has expired. Ask for a new one where you got it.',
  },
  elsewhere: {
    title: 'Not available on this page',
    detail: 'The owner of this stream allows only other pages to show it.',
  },
  unchecked: {
    title: 'Your link cannot be checked right now',
    detail: 'The service that decides who may watch does not answer. Trying again: it starts here by itself.',
  },
  throttled: {
    title: 'Too many wrong links from your network',
    detail: 'Trying again: it starts here by itself.',
  },
  unreachable: { title: 'No connection', detail: 'Trying again: it starts here by itself.' },
};

/**
 * Shows a state: `data-state` of `<html>`, the notice, the live label, and once to screen readers.
 * @param {State} state
 * @param {Wording} [wording] instead of the state's own
 */
export function showState(state, wording = WORDINGS[state]) {
  const { dataset } = document.documentElement;
  dataset.state = state;
  const hasMedia = state === 'playing' || state === 'stalled' || state === 'paused';
  const isReplay = dataset.mode === 'replay';
  setText('live-label', isReplay || hasMedia ? 'Live' : 'Offline');
  document.getElementById('live-prefix')?.toggleAttribute('hidden', !isReplay);
  document.getElementById('live')?.setAttribute('title', isReplay ? 'Back to live (l)' : 'Jump to live (l)');
  if (state !== 'playing') setText('latency', '');
  if (state === 'playing' || state === 'paused') {
    setText('announcement', state === 'playing' && dataset.mode === 'replay' ? 'Playing' : wording.title);
    return;
  }
  setText('notice-title', wording.title);
  setText('notice-detail', wording.detail);
  setText('announcement', `${wording.title}. ${wording.detail}`);
}

/**
 * Shows the latency.
 * @param {number | undefined} latencyS
 */
export function showLatency(latencyS) {
  const { dataset } = document.documentElement;
  if (latencyS === undefined) {
    delete dataset.latency;
    setText('latency', '');
    return;
  }
  dataset.latency = latencyS.toFixed(2);
  setText('latency', `${latencyS.toFixed(1)} s`);
}

/** @param {string} id @param {string} text written only when it differs, because a screen reader would read it again */
function setText(id, text) {
  const element = document.getElementById(id);
  if (element && element.textContent !== text) element.textContent = text;
}
