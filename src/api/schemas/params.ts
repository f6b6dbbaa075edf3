/**
 * Parts of paths.
 */
import { Type } from 'typebox';
import { API_TOKEN_ID, PLAYBACK_ID, SESSION_ID, STREAM_ID, STREAM_KEY, USER_ID } from './sample-ids.ts';

const idParams = (what: string, example: string) =>
  Type.Object({ id: Type.String({ description: what, examples: [example] }) });

/** A stream. */
export const streamIdParams = idParams('The id of the stream.', STREAM_ID);
/** A session. */
export const sessionIdParams = idParams('The id of the session.', SESSION_ID);
/** An API key. */
export const apiTokenIdParams = idParams('The id of the API key.', API_TOKEN_ID);
/** A user. */
export const userIdParams = idParams('The id of the user.', USER_ID);
/** Anything that names a stream. */
export const anyIdParams = idParams('An id, streamKey or playbackId.', STREAM_ID);

/** A stream by what viewers know. */
export const playbackIdParams = Type.Object({
  playbackId: Type.String({ description: 'The playbackId of the stream.', examples: [PLAYBACK_ID] }),
});

/** A stream by what its publisher knows. */
export const streamKeyParams = Type.Object({
  streamKey: Type.String({ description: 'The streamKey.', examples: [STREAM_KEY] }),
});
