/**
 * For how long does the first request of each kind block the event loop of a server that has answered no request before?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startObservedServer } from './support/observed-server.ts';
import { type Answer, atMost } from './support/question.ts';

/** How long a server runs before the request. Its heap is tuned a second after the start, which must be over by then. */
const SETTLED_MS = 4000;
/** How long the event loop is observed after the answer, because a request may cause work that is done later. */
const AFTER_MS = 300;
const LIMIT_MS = 10;
const PATHS = [
  '/',
  '/docs',
  '/api/docs',
  '/api/openapi.json',
  '/dashboard',
  '/play',
  '/api/stream',
  '/hls/a/index.m3u8',
];

/** Answers the question above for requests without a key and for a customer's first stream, each sent to a server of its own. */
export async function firstRequests(): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const path of PATHS) {
    answers.push(await first(`GET ${path} without a key`, async ({ url }) => (await fetch(url + path)).arrayBuffer()));
  }
  answers.push(await first('POST /stream with a key', ({ api }) => api.createStream()));
  return answers;
}

type Server = Awaited<ReturnType<typeof startObservedServer>>;

async function first(what: string, ask: (server: Server) => Promise<unknown>): Promise<Answer> {
  await using server = await startObservedServer({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await sleep(SETTLED_MS);
  await server.loop();
  await ask(server);
  await sleep(AFTER_MS);
  const { blockMs } = await server.loop();
  return atMost(`longest block of the event loop at the first ${what}`, blockMs, LIMIT_MS, 'ms');
}
