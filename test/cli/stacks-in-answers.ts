/**
 * Loaded into a serving process by a test (`node --import`). Answers to `/healthz?unseen` carry a stack that nobody looks at, as Node makes
 * one for each socket error. The first to `/healthz?thrown` fails with an error.
 */
import { ServerResponse } from 'node:http';

const prototype = ServerResponse.prototype as unknown as {
  writeHead: (this: ServerResponse, ...args: unknown[]) => unknown;
};
const { writeHead } = prototype;
let hasThrown = false;

prototype.writeHead = function (...args) {
  const { url } = this.req;
  if (url === '/healthz?unseen') this.setHeader('x-stack', encodeURIComponent(String(new Error('unseen').stack)));
  if (url === '/healthz?thrown' && !hasThrown) {
    hasThrown = true;
    throw new RangeError('an error for this test');
  }
  return writeHead.apply(this, args);
};
