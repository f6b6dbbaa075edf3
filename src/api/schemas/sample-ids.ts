/**
 * Ids for the examples of the OpenAPI document. All examples use the same id for the same object.
 */

/** The id of the sample user. */
export const USER_ID = '29e3b0a5-7a3e-4f0e-9f3e-2f9a3a5bd1f4';
/** The id of an API key of the sample user. */
export const API_TOKEN_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e11';
/** The id of a browser session of the sample user. */
export const BROWSER_SESSION_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e18';
/** The id of a signing key of the sample user. */
export const SIGNING_KEY_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e15';
/** The id of a stream of the sample user. */
export const STREAM_ID = '66e2161c-7670-4d05-b71d-da2d6979556f';
/** The stream key of the sample stream. */
export const STREAM_KEY = '7f3q-x0m2-9kdp-4rtz';
/** The playback id of the sample stream. */
export const PLAYBACK_ID = '5v8c2hq0jn6t1wkz';
/** The id of a session of the sample stream. */
export const SESSION_ID = '0190d2f0-1f6e-7c3a-9a51-3c2f6a1b7e20';
/** The id of a clip of the sample session. */
export const CLIP_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e41';
/** The playback id of the sample clip. */
export const CLIP_PLAYBACK_ID = '7m1d4xw9c2k8z5te';
/** The id of a webhook of the sample user. */
export const WEBHOOK_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e31';
/** The id of an entry in the log of the sample webhook. */
export const WEBHOOK_LOG_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e32';
