/**
 * Path parameters.
 */
import { Type } from '#lib/schema.ts';
import {
  API_TOKEN_ID,
  BROWSER_SESSION_ID,
  CLIP_ID,
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

/** Path parameters that name a stream. */
export const streamIdParams = idParams('The id of the stream.', STREAM_ID);
/** Path parameters that name a session. */
export const sessionIdParams = idParams('The id of the session.', SESSION_ID);
/** Path parameters that name a recording or clip. */
export const assetIdParams = idParams('The id of the recording or clip.', CLIP_ID);
/** Path parameters that name a task. */
export const taskIdParams = idParams('The id of the task, which is the id of its clip.', CLIP_ID);
/** Path parameters that name a recording or clip, a session, or a stream. */
export const clippedIdParams = idParams(
  'The id of a session, stream or recording, or the playback id of a stream.',
  STREAM_ID,
);
/** Path parameters that name an API key. */
export const apiTokenIdParams = idParams('The id of the API key.', API_TOKEN_ID);
/** Path parameters that name a browser session. */
export const browserSessionIdParams = idParams('The id of the browser session.', BROWSER_SESSION_ID);
/** Path parameters that name a signing key. */
export const signingKeyIdParams = idParams('The id of the signing key.', SIGNING_KEY_ID);
/** Path parameters that name a user. */
export const userIdParams = idParams('The id of the user.', USER_ID);
/** Path parameters that name a webhook. */
export const webhookIdParams = idParams('The id of the webhook.', WEBHOOK_ID);
/** Path parameters that name an entry of the log of a webhook. */
export const webhookLogIdParams = Type.Object({
  id: Type.String({ description: 'The id of the webhook.', examples: [WEBHOOK_ID] }),
  logId: Type.String({ description: 'The id of the entry in the log of the webhook.', examples: [WEBHOOK_LOG_ID] }),
});
/** Path parameters that name a stream by its id, stream key or playback id. */
export const anyIdParams = idParams('An id, a `streamKey` or a `playbackId`.', STREAM_ID);

/** Path parameters that name a stream by its playback id. */
export const playbackIdParams = Type.Object({
  playbackId: Type.String({ description: 'The `playbackId` of the stream.', examples: [PLAYBACK_ID] }),
});

/** Path parameters that name what can be played. */
export const playableIdParams = Type.Object({
  playbackId: Type.String({
    description: 'The `playbackId` of a stream, recording or clip, or the id of a session that is recorded.',
    examples: [PLAYBACK_ID],
  }),
});

/** Path parameters that name a stream by its stream key. */
export const streamKeyParams = Type.Object({
  streamKey: Type.String({ description: 'The `streamKey` of the stream.', examples: [STREAM_KEY] }),
});
