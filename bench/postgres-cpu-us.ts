/**
 * How much CPU does the server spend on a `GET /stream/<id>` and a `POST /stream` on PostgreSQL, against SQLite? The CPU time of
 * PostgreSQL's own processes is not counted.
 */
import { startPostgres } from '../test/support/postgres.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { type HttpLoad, runHttpLoad } from './support/http-load.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMostTimes } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { inRounds } from './support/statistics.ts';

const REQUESTS = { GET: 10_000, POST: 5000 } as const;
const ROUNDS = 3;
/**
 * How many times the CPU on SQLite each request may cost. A `GET` costs several times as much, because its two lookups are queries over a
 * connection, while SQLite's answers are remembered until the next commit (decision 8).
 */
const LIMIT_TIMES = { GET: 5, POST: 2.5 } as const;

/** Answers the question above for both requests. */
export async function postgresCpuUs(): Promise<readonly Answer[]> {
  await using postgres = await startPostgres();
  await using onSqlite = await startServerProcess({ settings: MEASURED });
  await using onPostgres = await startServerProcess({
    settings: { ...MEASURED, MILLRACE_DATABASE_URL: await postgres.newDatabase() },
  });
  const answers: Answer[] = [];
  for (const method of ['GET', 'POST'] as const) {
    const costOn = async (server: ServerProcess) => {
      const load = await loadOf(server, method);
      return async () => ((await cpuMsDuring(server.pid, () => runHttpLoad(load))) * 1000) / REQUESTS[method];
    };
    const measures = { ours: await costOn(onPostgres), theirs: await costOn(onSqlite) };
    const { ours, theirs } = await inRounds(ROUNDS, measures, { warmUp: 1 });
    answers.push(
      atMostTimes(
        `server CPU per \`${method}\` of a stream on PostgreSQL`,
        ours,
        { name: 'on SQLite', value: theirs },
        { times: LIMIT_TIMES[method], unit: 'µs' },
      ),
    );
  }
  return answers;
}

async function loadOf({ httpPort, apiKey, api }: ServerProcess, method: 'GET' | 'POST'): Promise<HttpLoad> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const load = { port: httpPort, method, connections: 10, limit: { requests: REQUESTS[method] } };
  if (method === 'GET') return { ...load, path: `/api/stream/${(await api.createStream()).id}`, headers };
  return {
    ...load,
    path: '/api/stream',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', profiles: [] }),
  };
}
