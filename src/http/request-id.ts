/**
 * The id of a request: in its answer's `x-request-id`, in every error body and in log lines about it.
 */
import type { IncomingMessage } from 'node:http';
import { randomText } from '#domain/ids.ts';

/** Short and plain, so that it can stand in logs and headers; too short for any key of ours to pass as one. */
const CLEAN = /^[A-Za-z0-9-]{1,36}$/;
const STREAM_KEY = /^\w{4}(-\w{4}){3}$/;

/**
 * Gives each request the id its caller chose, when that is clean, else one of ours: a random prefix for the process and
 * a counter, which costs no randomness per request.
 */
export function requestIds(): (request: Pick<IncomingMessage, 'headers'>) => string {
  const prefix = randomText(8);
  let count = 0;
  return ({ headers }) => {
    const chosen = headers['x-request-id'];
    if (typeof chosen === 'string' && CLEAN.test(chosen) && !STREAM_KEY.test(chosen)) return chosen;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
