/**
 * The requests for sessions that are live, and for those that are not, which may be waiting for their encoder or have ended.
 */

/** The path of a list, newest first. The others are left out, because with many of them a list of some sessions would have no place for these. */
export const sessionList = (isActive: boolean, limit: number): string =>
  `/session?limit=${limit}&order=lastSeen-true&filters=${encodeURIComponent(JSON.stringify([{ id: 'isActive', value: isActive }]))}`;
