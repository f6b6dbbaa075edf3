// @ts-check
/**
 * The controls over the video: buttons and keys, and the state that the buttons show.
 */

/** The controls are hidden when the viewer has not moved the pointer or pressed a key for this long. */
const IDLE_MS = 2500;
const VOLUME_STEP = 0.1;

/** The state of the page is kept in data attributes of `<html>`, which styles and tests read. */
const shown = document.documentElement.dataset;

/** The keys that change a slider. */
const SLIDER_KEYS = /^(Arrow.*|Home|End|Page.*)$/;

/** How far the arrow keys seek, in seconds. */
const SEEK_STEP_S = 10;

/**
 * Makes the controls work.
 * @param {HTMLVideoElement} video
 * @param {object} actions
 * @param {() => void} actions.resume called before playback resumes. A live stream resumes at its live edge
 * @param {() => void} actions.goLive jumps to the live edge, and leaves the recording if necessary
 * @param {(seconds: number) => void} actions.seekBy seeks relative to the present position; -Infinity seeks to the start
 */
export function wireControls(video, { resume, goLive, seekBy }) {
  const player = /** @type {HTMLElement} */ (document.getElementById('player'));
  const bar = /** @type {HTMLElement} */ (document.getElementById('bar'));
  const volume = /** @type {HTMLInputElement} */ (document.getElementById('volume'));
  const toggleFullscreen = fullscreenToggle(player, video);

  const play = () => {
    resume();
    video.play().catch(() => {}); // refused: the page still shows that it is paused
  };
  const togglePlay = () => (video.paused ? play() : video.pause());
  const toggleMute = () => {
    video.muted = !video.muted;
    if (!video.muted && video.volume === 0) video.volume = 0.5;
  };
  const setVolume = (/** @type {number} */ value) => {
    video.volume = Math.min(1, Math.max(0, value));
    video.muted = video.volume === 0;
  };

  onClick('play', togglePlay);
  onClick('big-play', play);
  onClick('mute', toggleMute);
  onClick('unmute', toggleMute);
  onClick('live', goLive);
  volume.addEventListener('input', () => setVolume(volume.valueAsNumber));
  if (toggleFullscreen) onClick('fullscreen', toggleFullscreen);
  // Full screen of the video itself needs media.
  if (!document.fullscreenEnabled) document.getElementById('fullscreen')?.classList.add('for-media');
  if (document.pictureInPictureEnabled) onClick('pip', () => togglePictureInPicture(video));
  // A tap only shows the controls. Safari before 18.2 and Firefox before 129 do not say what a click was made with.
  video.addEventListener('click', (event) => {
    const isTouch = event instanceof PointerEvent && event.pointerType === 'touch';
    if (!isTouch && matchMedia('(hover: hover)').matches) togglePlay();
  });

  // The letters below are keys while the focus is in the player. A click on the video or on a button that disappears puts it there.
  player.addEventListener('click', ({ target }) => {
    if (target instanceof Node && !bar.contains(target)) player.focus({ preventScroll: true });
  });
  onKeys(player, {
    ' ': togglePlay,
    k: togglePlay,
    m: toggleMute,
    l: goLive,
    f: () => toggleFullscreen?.(),
    ArrowLeft: () => seekBy(-SEEK_STEP_S),
    ArrowRight: () => seekBy(SEEK_STEP_S),
    Home: () => seekBy(-Infinity),
    ArrowUp: () => setVolume(video.volume + VOLUME_STEP),
    ArrowDown: () => setVolume(video.volume - VOLUME_STEP),
  });

  const show = () => {
    flag('paused', video.paused);
    flag('muted', video.muted);
    flag('fullscreen', Boolean(document.fullscreenElement));
    label('play', video.paused ? 'Play' : 'Pause');
    label('mute', video.muted ? 'Turn on sound' : 'Mute');
    label('fullscreen', document.fullscreenElement ? 'Leave full screen' : 'Full screen');
    volume.value = String(video.muted ? 0 : video.volume);
  };
  for (const type of ['play', 'pause', 'volumechange']) video.addEventListener(type, show);
  document.addEventListener('fullscreenchange', show);
  show();
  hideWhenIdle(player, bar);
}

/**
 * Full screen with the page's controls where the browser allows it. An iPhone has full screen only with its own controls.
 * @param {HTMLElement} player
 * @param {HTMLVideoElement & { webkitEnterFullscreen?: () => void }} video
 * @returns {(() => void) | undefined} undefined where full screen is not possible
 */
function fullscreenToggle(player, video) {
  if (document.fullscreenEnabled) {
    return () => {
      const done = document.fullscreenElement ? document.exitFullscreen() : player.requestFullscreen();
      done.catch(() => {});
    };
  }
  return video.webkitEnterFullscreen ? () => video.webkitEnterFullscreen?.() : undefined;
}

/** @param {HTMLVideoElement} video */
function togglePictureInPicture(video) {
  const done = document.pictureInPictureElement ? document.exitPictureInPicture() : video.requestPictureInPicture();
  done.catch(() => {});
}

/** @param {HTMLElement} player @param {HTMLElement} bar */
function hideWhenIdle(player, bar) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const wake = () => {
    clearTimeout(timer);
    flag('idle', false);
    timer = setTimeout(() => flag('idle', true), IDLE_MS);
  };
  const wakeByPointer = (/** @type {PointerEvent} */ { pointerType, target }) => {
    // A finger that taps where hidden controls are must not press one. So they appear when the tap is over, which is with its click. A press
    // on a control, such as a drag of the time line, began while they were shown.
    const isHidden = shown.idle !== undefined && shown.state === 'playing';
    if (!isHidden || pointerType === 'mouse' || (target instanceof Node && bar.contains(target))) wake();
  };
  player.addEventListener('pointermove', wakeByPointer);
  player.addEventListener('pointerdown', wakeByPointer);
  player.addEventListener('click', wake);
  bar.addEventListener('focusin', wake);
  document.addEventListener('keydown', wake);
  wake();
}

/** @param {HTMLElement} player @param {Record<string, () => void>} actions by key; letters in lower case */
function onKeys(player, actions) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // A focused button handles the space bar itself, and a list handles every key.
    if (event.target instanceof HTMLSelectElement) return;
    if (event.target instanceof HTMLButtonElement && event.key === ' ') return;
    // The volume slider handles its own keys. The time line does not: its own step would be a tenth of a second.
    if (event.target instanceof HTMLInputElement && event.target.id === 'volume' && SLIDER_KEYS.test(event.key)) return;
    // A letter that is typed or dictated while nothing has the focus is not meant for the player (WCAG 2.1.4).
    if (/^[a-z]$/i.test(event.key) && !player.contains(document.activeElement)) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** Gives a button its action, and shows it. @param {string} id @param {() => void} action */
function onClick(id, action) {
  const button = /** @type {HTMLButtonElement} */ (document.getElementById(id));
  button.addEventListener('click', action);
  button.hidden = false;
}

/** @param {string} id @param {string} text */
function label(id, text) {
  document.getElementById(id)?.setAttribute('aria-label', text);
}

/**
 * Sets or removes a data attribute. A value that is set already stays, such as `auto` in `data-muted`.
 * @param {string} name
 * @param {boolean} on
 */
function flag(name, on) {
  if (on) shown[name] ??= '';
  else delete shown[name];
}
