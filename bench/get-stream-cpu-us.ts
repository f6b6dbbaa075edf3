/**
 * How much CPU does the server spend on a `GET /stream/<id>`, against a bare Fastify route that sends the same JSON?
 */
import { startServerProcess } from '../test/support/server.ts';
import { type HttpLoad, runHttpLoad } from './support/http-load.ts';
import { startPeer } from './support/peer-process.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMostTimes } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { inRounds } from './support/statistics.ts';

const REQUESTS = 40_000;
const ROUNDS = 5;

/** Answers the question above. */
export async function getStreamCpuUs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  const stream = await server.api.createStream();
  const body = await server.api.getStream(stream.id);
  await using peer = await startPeer('bare-fastify.ts', { body });

  const path = `/api/stream/${stream.id}`;
  const cost = async (pid: number, request: Pick<HttpLoad, 'port' | 'headers'>) => {
    const load = { ...request, path, connections: 10, limit: { requests: REQUESTS } };
    return ((await cpuMsDuring(pid, () => runHttpLoad(load))) * 1000) / REQUESTS;
  };
  const headers = { authorization: `Bearer ${server.apiKey}` };
  const { ours, theirs } = await inRounds(
    ROUNDS,
    {
      ours: () => cost(server.pid, { port: server.httpPort, headers }),
      theirs: () => cost(peer.pid, { port: peer.answer }),
    },
    { warmUp: 1 },
  );
  return [
    atMostTimes(
      'server CPU per `GET /stream/<id>`',
      ours,
      { name: 'bare Fastify route, same JSON', value: theirs },
      { times: 1.8, unit: 'µs' },
    ),
  ];
}
