// @ts-check
/**
 * `<millrace-player playback-id="...">`: a live stream inside any page, with the same engine as the player page.
 *
 * Attributes: `playback-id`; `muted`; `controls` for the browser's controls; `query`, such as `?jwt=...`, for a stream that is not public.
 * Events: `statechange` (`detail.state`: `connecting`, `offline`, `playing` or `unsupported`) and `latency` (`detail.latencyS`).
 */
import { loadEngine } from './engine.js';
import { waitForStream } from './wait-for-stream.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const LATENCY_EVERY_MS = 1000;
/** There is no menu for the quality: hls.js chooses the variant. @type {import('./quality.js').Quality} */
const NO_MENU = { offer() {}, show() {} };

const STYLE = `
  :host { display: block; position: relative; aspect-ratio: 16 / 9; background: #0b0d12; overflow: hidden; }
  video { display: block; width: 100%; height: 100%; object-fit: contain; }
`;
/** One style sheet for all elements. Safari before 16.4 cannot share one. @type {CSSStyleSheet | undefined} */
const SHEET = 'adoptedStyleSheets' in document ? new CSSStyleSheet() : undefined;
SHEET?.replaceSync(STYLE);

/** The custom element. It plays while it is in a document. */
export class MillracePlayer extends HTMLElement {
  static observedAttributes = ['playback-id', 'query', 'muted', 'controls'];

  #video = document.createElement('video');
  /** @type {AbortController | undefined} */
  #playing;
  /** Whether the viewer paused the video, which then stays paused when playback is started again. */
  #wantsPause = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    if (SHEET) root.adoptedStyleSheets = [SHEET];
    else root.append(Object.assign(document.createElement('style'), { textContent: STYLE }));
    this.#video.playsInline = true;
    this.#video.setAttribute('part', 'video');
    this.#video.addEventListener('play', () => {
      this.#wantsPause = false;
    });
    this.#video.addEventListener('pause', () => {
      // Browsers also pause a video that is over, cannot be played or is no longer in a document.
      this.#wantsPause = this.isConnected && !this.#video.ended && !this.#video.error;
    });
    root.append(this.#video);
  }

  /** The video element, for a page that sets a poster or uses picture-in-picture. */
  get video() {
    return this.#video;
  }

  /** Called by the browser when the element is put into a document. */
  connectedCallback() {
    this.#video.muted = this.hasAttribute('muted');
    this.#video.controls = this.hasAttribute('controls');
    this.#start();
  }

  /** Called by the browser when the element is taken out of its document. */
  disconnectedCallback() {
    this.#playing?.abort();
    this.#playing = undefined;
  }

  /** @param {string} name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected) return;
    if (name === 'playback-id') this.#wantsPause = false;
    if (name === 'muted') this.#video.muted = after !== null;
    else if (name === 'controls') this.#video.controls = after !== null;
    else this.#start();
  }

  #start() {
    this.#playing?.abort();
    this.#playing = new AbortController();
    const playbackId = this.getAttribute('playback-id');
    if (playbackId) void this.#play(playbackId, this.#playing.signal);
  }

  /** Plays one session after another. @param {string} playbackId @param {AbortSignal} signal */
  async #play(playbackId, signal) {
    const folder = new URL(`../../../hls/${encodeURIComponent(playbackId)}/`, import.meta.url);
    const url = new URL(`index.m3u8${this.getAttribute('query') ?? ''}`, folder).href;
    this.#tell('statechange', { state: 'connecting' });
    const tellOffline = () => this.#tell('statechange', { state: 'offline' });
    const play = await loadEngine({ onFailure: tellOffline, signal });
    if (!play) return;
    const video = this.#video;
    /** @type {string | undefined} */
    let endedSession;
    for (let losses = 0; !signal.aborted; ) {
      const found = await waitForStream(url, {
        after: endedSession,
        onAbsent: tellOffline,
        signal,
      });
      if (found === undefined) return;
      const engine = play(video, url, NO_MENU);
      const shown = () => this.#tell('statechange', { state: 'playing' });
      video.addEventListener('playing', shown);
      const telling = setInterval(() => {
        const latencyS = engine.latencyS();
        if (latencyS !== undefined && !video.paused) this.#tell('latency', { latencyS });
      }, LATENCY_EVERY_MS);
      const startedAt = performance.now();
      // Browsers refuse this without a user gesture unless the video is muted. The viewer can then start it with the controls.
      if (!this.#wantsPause) video.play().catch(() => {});
      const outcome = await Promise.race([
        engine.outcome,
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve('stopped'), { once: true });
        }),
      ]);
      clearInterval(telling);
      video.removeEventListener('playing', shown);
      engine.stop();
      if (signal.aborted) return;
      if (outcome === 'ended') endedSession = found.session;
      if (outcome === 'unsupported') this.#tell('statechange', { state: 'unsupported' });
      losses = outcome === 'ended' || performance.now() - startedAt > LONGEST_PAUSE_MS ? 0 : losses + 1;
      if (outcome !== 'ended') await pause(Math.min(FIRST_PAUSE_MS * 2 ** losses, LONGEST_PAUSE_MS));
    }
  }

  /** @param {string} type @param {object} detail */
  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

if (!customElements.get('millrace-player')) customElements.define('millrace-player', MillracePlayer);

/** @param {number} pauseMs @returns {Promise<void>} */
function pause(pauseMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
