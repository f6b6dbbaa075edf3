/**
 * Parts of paths.
 */
import { Type } from '#lib/schema.ts';
import {
  API_TOKEN_ID,
  PLAYBACK_ID,
  SESSION_ID,
  SIGNING_KEY_ID,
  STREAM_ID,
  STREAM_KEY,
  USER_ID,
  WEBHOOK_ID,
  WEBHOOK_LOG_ID,
} from './sample-ids.ts';

const idParams = (what: string, example: string) =>
  Type.Object({ id: Type.String({ description: what, examples: [example] }) });

/** A stream. */
export const streamIdParams = idParams('The id of the stream.', STREAM_ID);
/** A session. */
export const sessionIdParams = idParams('The id of the session.', SESSION_ID);
/** An API key. */
export const apiTokenIdParams = idParams('The id of the API key.', API_TOKEN_ID);
/** A signing key. */
export const signingKeyIdParams = idParams('The id of the signing key.', SIGNING_KEY_ID);
/** A user. */
export const userIdParams = idParams('The id of the user.', USER_ID);
/** A webhook. */
export const webhookIdParams = idParams('The id of the webhook.', WEBHOOK_ID);
/** An entry of the log of a webhook. */
export const webhookLogIdParams = Type.Object({
  id: Type.String({ description: 'The id of the webhook.', examples: [WEBHOOK_ID] }),
  logId: Type.String({ description: 'The id of the entry of its log.', examples: [WEBHOOK_LOG_ID] }),
});
/** Anything that names a stream. */
export const anyIdParams = idParams('An id, a `streamKey` or a `playbackId`.', STREAM_ID);

/** A stream by what viewers know. */
export const playbackIdParams = Type.Object({
  playbackId: Type.String({ description: 'The `playbackId` of the stream.', examples: [PLAYBACK_ID] }),
});

/** A stream by what its publisher knows. */
export const streamKeyParams = Type.Object({
  streamKey: Type.String({ description: 'The `streamKey` of the stream.', examples: [STREAM_KEY] }),
});
