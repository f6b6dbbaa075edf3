/**
 * The requests for sessions that are live, and for those that are not: these wait for their encoder, or have ended.
 */

/**
 * The path of the list of live sessions, or of the sessions that are not live, most recently seen first. Each has a list of its own,
 * because many live sessions would leave no place for the others in a short list.
 */
export const sessionList = (isActive: boolean, limit: number): string =>
  `/session?limit=${limit}&order=lastSeen-true&filters=${encodeURIComponent(JSON.stringify([{ id: 'isActive', value: isActive }]))}`;
