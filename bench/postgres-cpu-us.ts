/**
 * How much CPU does the server spend on a `GET /stream/<id>` and a `POST /stream` on PostgreSQL, against SQLite?
 */
import { startPostgres } from '../test/support/postgres.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { type HttpLoad, runHttpLoad } from './support/http-load.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { inRounds } from './support/statistics.ts';

const REQUESTS = { GET: 10_000, POST: 5000 } as const;
const ROUNDS = 3;

/** Reports both; PostgreSQL's own CPU is not counted. */
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
    answers.push({
      question: `server CPU per \`${method}\` of a stream on PostgreSQL`,
      measured: `${show(ours)} µs`,
      against: `on SQLite ${show(theirs)} µs`,
      ratio: ours / theirs,
      mustReach: 'reported',
      reached: true,
    });
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
