/**
 * How long does the first request of each kind hold up a server that nobody has asked anything yet?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startObservedServer } from './support/observed-server.ts';
import { type Answer, atMost } from './support/question.ts';

/** After so long a server has settled: its heap is tuned a second after the start. */
const SETTLED_MS = 4000;
/** What a request causes is over after so long. */
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

/** Answers it for requests without a key, each to a server of its own, and for a customer's first stream. */
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
