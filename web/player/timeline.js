// @ts-check
/**
 * The time line (seek bar) of a recorded stream: shows the position, and seeks to others, with a preview picture under the pointer.
 */
import { Storyboard } from './storyboard.js';

/** Seeking to a position this close to the live edge plays the live stream. */
const LIVE_WITHIN_S = 5;
/** Presses of keys that follow each other within this time seek once. */
const SETTLE_MS = 200;

/**
 * @typedef {object} Timeline
 * @property {(storyboardUrl: string, grows: boolean) => void} use sets which recording it shows; an empty URL hides it
 * @property {(at: { positionS: number, endS: number, isLive: boolean }) => void} show shows the position
 * @property {(seconds: number) => void} seekBy seeks relative to the shown position, if one is shown; quick calls add up
 * @property {() => void} cancel forgets a position that is being chosen
 */

/**
 * Makes the time line work.
 * @param {(positionS: number | 'live', isLive: boolean) => void} seek called when the viewer chooses a position, in seconds from the start.
 *   `isLive` is that of the last `show`
 * @returns {Timeline}
 */
export function wireTimeline(seek) {
  const line = /** @type {HTMLElement} */ (document.getElementById('timeline'));
  const slider = /** @type {HTMLInputElement} */ (document.getElementById('seek'));
  const preview = /** @type {HTMLElement} */ (document.getElementById('preview'));
  const picture = /** @type {HTMLElement} */ (document.getElementById('preview-picture'));
  const time = /** @type {HTMLElement} */ (document.getElementById('preview-time'));
  const clock = /** @type {HTMLElement} */ (document.getElementById('clock'));
  const clockAt = /** @type {HTMLElement} */ (document.getElementById('clock-at'));
  const clockEnd = /** @type {HTMLElement} */ (document.getElementById('clock-end'));
  let previewedS = 0;
  const storyboard = new Storyboard(() => {
    if (!preview.hidden) showPreview(previewedS);
  });
  let isLive = true;
  /** Whether the viewer is choosing a position, which stays until it is chosen. */
  let isDragged = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let settling;

  const endS = () => Number(slider.max);
  const fill = () => line.style.setProperty('--played', endS() > 0 ? String(slider.valueAsNumber / endS()) : '0');

  const showPreview = (/** @type {number} */ positionS) => {
    previewedS = positionS;
    const tile = storyboard.at(positionS);
    preview.hidden = false;
    time.textContent = timeText(positionS);
    picture.hidden = tile === undefined;
    if (tile !== undefined) {
      picture.style.width = `${tile.width}px`;
      picture.style.height = `${tile.height}px`;
      picture.style.backgroundImage = `url("${tile.sheet}")`;
      picture.style.backgroundPosition = `-${tile.x}px -${tile.y}px`;
    }
    const { width } = line.getBoundingClientRect();
    const half = preview.offsetWidth / 2;
    const x = (positionS / (endS() || 1)) * width;
    preview.style.left = `${Math.min(Math.max(x, half), width - half)}px`;
  };
  const hidePreview = () => {
    preview.hidden = true;
  };

  slider.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = slider.getBoundingClientRect();
    showPreview(isDragged ? slider.valueAsNumber : Math.min(Math.max((clientX - left) / width, 0), 1) * endS());
  });
  slider.addEventListener('pointerleave', hidePreview);
  slider.addEventListener('blur', hidePreview);
  slider.addEventListener('input', () => {
    clearTimeout(settling);
    isDragged = true;
    fill();
    showPreview(slider.valueAsNumber);
  });
  slider.addEventListener('change', () => {
    hidePreview();
    commit();
  });

  const cancel = () => {
    clearTimeout(settling);
    isDragged = false;
  };
  const commit = () => {
    cancel();
    const hasLive = document.documentElement.dataset.live !== undefined;
    const positionS = slider.valueAsNumber;
    seek(hasLive && positionS > Math.max(0, endS() - LIVE_WITHIN_S) ? 'live' : positionS, isLive);
  };

  return {
    use: (url, grows) => {
      line.hidden = url === '';
      clock.hidden = url === '';
      storyboard.use(url, grows);
    },
    show: (at) => {
      if (isDragged || !Number.isFinite(at.endS)) return;
      isLive = at.isLive;
      slider.max = at.endS.toFixed(1);
      slider.value = at.positionS.toFixed(1);
      fill();
      const text = isLive ? 'Live' : `${timeText(at.positionS)} of ${timeText(at.endS)}`;
      if (slider.getAttribute('aria-valuetext') !== text) slider.setAttribute('aria-valuetext', text);
      clockAt.textContent = isLive ? '' : timeText(at.positionS);
      clockEnd.textContent = isLive ? '' : ` / ${timeText(at.endS)}`;
    },
    seekBy: (seconds) => {
      const fromS = slider.valueAsNumber;
      if (line.hidden || endS() === 0 || (isLive && seconds > 0 && fromS >= endS())) return;
      isDragged = true;
      slider.value = String(Math.max(0, fromS + seconds));
      fill();
      clearTimeout(settling);
      settling = setTimeout(commit, SETTLE_MS);
    },
    cancel,
  };
}

/** @param {number} seconds */
function timeText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}
