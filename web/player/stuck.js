// @ts-check
/**
 * Detects a video that stands still although it should play.
 */

const LOOK_EVERY_MS = 250;

/**
 * @param {HTMLVideoElement} video
 * @param {() => number} timeoutMs how long the video may stand still at this moment; Infinity when it should stand still
 * @param {() => void} onStuck called once
 * @returns {() => void} stops watching
 */
export function watchForStuck(video, timeoutMs, onStuck) {
  let lastTime = video.currentTime;
  let standingMs = 0;
  const timer = setInterval(() => {
    const limitMs = timeoutMs();
    const excused = video.currentTime !== lastTime || video.paused || document.hidden || limitMs === Infinity;
    lastTime = video.currentTime;
    standingMs = excused ? 0 : standingMs + LOOK_EVERY_MS;
    if (standingMs < limitMs) return;
    clearInterval(timer);
    onStuck();
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
