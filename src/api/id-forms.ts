/**
 * The forms of ids: what cannot be one is unknown, without asking the store.
 */
import type { PlaybackId } from '#domain/ids.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PLAYBACK_ID = /^[0-9a-z]{16}$/;

/** Whether text can be the id of a stream, session, key or user. */
export const isUuid = (text: string): boolean => UUID.test(text);
/** Whether text can be a playback id. */
export const isPlaybackId = (text: string): text is PlaybackId => PLAYBACK_ID.test(text);
