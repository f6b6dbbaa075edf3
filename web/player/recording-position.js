// @ts-check
/** Positions in a recording, in seconds, from the texts of its media playlists. */

/** The smallest distance from the end of a running recording at which a replay begins, in target durations. */
const REPLAY_HOLD_BACK = 1.5;

/**
 * The position in the source at which another variant begins. 0 when either playlist could not be loaded.
 * @param {string} playlist the text of the variant's playlist
 * @param {string} source the text of the playlist of the source
 */
export function beginningOf(playlist, source) {
  const startMs = Date.parse(/^#EXT-X-PROGRAM-DATE-TIME:(.+)/m.exec(playlist)?.[1] ?? '');
  return Number.isNaN(startMs) ? 0 : positionIn(source, startMs);
}

/**
 * The position at which to begin, so that the frame that was shown at a wall-clock time is the first. In a running recording it is not too
 * close to the end.
 * @param {string} playlist the text of a media playlist
 * @param {number} dateMs
 */
export function positionToBegin(playlist, dateMs) {
  const positionS = positionIn(playlist, dateMs);
  if (playlist.includes('#EXT-X-ENDLIST')) return positionS;
  const targetS = Number(/#EXT-X-TARGETDURATION:(\d+)/.exec(playlist)?.[1] ?? 0);
  return Math.max(0, Math.min(positionS, positionIn(playlist, Infinity) - REPLAY_HOLD_BACK * targetS));
}

/**
 * The position of the frame that was shown at a wall-clock time. The end for a later time, and 0 for an earlier one.
 * @param {string} playlist the text of a media playlist
 * @param {number} dateMs
 */
function positionIn(playlist, dateMs) {
  let endS = 0;
  let atMs = Number.NaN;
  for (const [, date, duration] of playlist.matchAll(/^#EXT-X-PROGRAM-DATE-TIME:(.+)|^#EXTINF:([\d.]+)/gm)) {
    if (date) atMs = Date.parse(date);
    if (!duration) continue;
    const durationS = Number(duration);
    if (atMs + durationS * 1000 > dateMs) return endS + Math.max(0, (dateMs - atMs) / 1000);
    endS += durationS;
    atMs += durationS * 1000;
  }
  return endS;
}
