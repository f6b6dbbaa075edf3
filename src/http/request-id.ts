/**
 * The id of a request, which its answer has in the header `x-request-id`, and which is in every error body and in log lines about it.
 */
import type { IncomingMessage } from 'node:http';
import { randomText } from '#domain/ids.ts';

/** The form of an id that a caller may choose: plain enough for logs and headers, and too short to be an API key. */
const CHOSEN = /^[A-Za-z0-9-]{1,36}$/;
const STREAM_KEY = /^\w{4}(-\w{4}){3}$/;

/**
 * Makes a function that returns the id of a request: the one its caller chose if that is acceptable, otherwise a random prefix of the
 * process and a counter, which takes no random bytes for each request.
 */
export function requestIds(): (request: Pick<IncomingMessage, 'headers'>) => string {
  const prefix = randomText(8);
  let count = 0;
  return ({ headers }) => {
    const chosen = headers['x-request-id'];
    if (typeof chosen === 'string' && CHOSEN.test(chosen) && !STREAM_KEY.test(chosen)) return chosen;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
