/**
 * Ids for the examples of the document, the same thing by the same id in all of them.
 */

/** A user. */
export const USER_ID = '29e3b0a5-7a3e-4f0e-9f3e-2f9a3a5bd1f4';
/** An API key of that user. */
export const API_TOKEN_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e11';
/** A signing key of that user. */
export const SIGNING_KEY_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e15';
/** A stream of that user. */
export const STREAM_ID = '66e2161c-7670-4d05-b71d-da2d6979556f';
/** What its publisher knows of it. */
export const STREAM_KEY = '7f3q-x0m2-9kdp-4rtz';
/** What its viewers know of it. */
export const PLAYBACK_ID = '5v8c2hq0jn6t1wkz';
/** A session of that stream. */
export const SESSION_ID = '0190d2f0-1f6e-7c3a-9a51-3c2f6a1b7e20';
/** A webhook of that user. */
export const WEBHOOK_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e31';
/** An entry of its log. */
export const WEBHOOK_LOG_ID = '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e32';
