// @ts-check
/**
 * Notices a picture that stands still although it should move.
 */

const LOOK_EVERY_MS = 500;
/** Players jump holes and refill within two or three seconds; what stands longer is beyond them. */
const STUCK_MS = 6000;

/**
 * @param {HTMLVideoElement} video
 * @param {() => boolean} hasMedia whether there is newer media to play; standing is right when there is none
 * @param {() => void} onStuck called once
 * @returns {() => void} stops watching
 */
export function watchForStuck(video, hasMedia, onStuck) {
  let lastTime = video.currentTime;
  let standingMs = 0;
  const timer = setInterval(() => {
    const moves = video.currentTime !== lastTime;
    lastTime = video.currentTime;
    standingMs = moves || video.paused || document.hidden || !hasMedia() ? 0 : standingMs + LOOK_EVERY_MS;
    if (standingMs < STUCK_MS) return;
    clearInterval(timer);
    onStuck();
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
