/**
 * Does a walk through all pages of a list see every stream that was there throughout, once, while clients create and delete others?
 */
import { startPostgres } from '../test/support/postgres.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import type { Answer } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const LASTING = 1000;
const CLIENTS = 8;
const SECONDS = 15;
const PAGE = 50;
/** The streams that a client keeps before it deletes the oldest of them, so that streams come and go inside the list, not only at its end. */
const LIVES = 20;

/** Answers the question above for both databases. */
export async function cursorWalk(): Promise<readonly Answer[]> {
  await using postgres = await startPostgres();
  await using onSqlite = await startServerProcess({ settings: MEASURED });
  await using onPostgres = await startServerProcess({
    settings: { ...MEASURED, MILLRACE_DATABASE_URL: await postgres.newDatabase() },
  });
  return [await walkOn('SQLite', onSqlite), await walkOn('PostgreSQL', onPostgres)];
}

async function walkOn(database: string, server: TestServer): Promise<Answer> {
  const lasting = new Set<string>();
  const stop = new AbortController();
  // The clients start first, so that their streams are among the lasting ones in the list.
  const changes = Array.from({ length: CLIENTS }, () => comeAndGo(server, stop.signal));
  while (lasting.size < LASTING) lasting.add((await server.api.createStream({ profiles: [] })).id);
  let [walks, skipped, twice] = [0, 0, 0];
  const until = performance.now() + SECONDS * 1000;
  while (performance.now() < until) {
    const seen = await walk(server);
    const distinct = new Set(seen);
    walks += 1;
    twice += seen.length - distinct.size;
    skipped += lasting.difference(distinct).size;
  }
  stop.abort();
  const changed = (await Promise.all(changes)).reduce((sum, each) => sum + each, 0);
  return {
    question: `cursor walk over ${LASTING} streams while ${CLIENTS} clients insert and delete others, ${database}`,
    measured: `${skipped} skipped, ${twice} twice`,
    mustReach: 'no row skipped, none twice',
    reached: skipped === 0 && twice === 0 && walks > 0 && changed > 0,
    details: `${walks} walks by pages of ${PAGE}, ${changed} streams created and deleted meanwhile`,
  };
}

/** The ids of all streams, page after page as the server links them. */
async function walk({ api }: TestServer): Promise<readonly string[]> {
  const ids: string[] = [];
  let path: string | undefined = `/stream?limit=${PAGE}`;
  while (path !== undefined) {
    const response = await api.request('GET', path);
    ids.push(...((await response.json()) as { readonly id: string }[]).map(({ id }) => id));
    path = /<[^>]*(\/stream\?[^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  }
  return ids;
}

/** Creates streams and deletes them again until told to stop. @returns how many were deleted */
async function comeAndGo({ api }: TestServer, signal: AbortSignal): Promise<number> {
  const ids: string[] = [];
  let deleted = 0;
  while (!signal.aborted) {
    ids.push((await api.createStream({ profiles: [] })).id);
    if (ids.length <= LIVES) continue;
    const answer = await api.request('DELETE', `/stream/${ids.shift()}`);
    if (answer.status !== 204) throw new Error(`DELETE gave ${answer.status}`);
    deleted += 1;
  }
  return deleted;
}
