/**
 * How much CPU does the server spend on a `GET /stream/<id>`, against a bare Fastify route that sends the same JSON?
 */
import { startServerProcess } from '../test/support/server.ts';
import { type HttpLoad, runHttpLoad } from './support/http-load.ts';
import { startPeer } from './support/peer-process.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMostTimes } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { median } from './support/statistics.ts';

const REQUESTS = 40_000;
/** Each round measures both, so that a machine that becomes slower affects both. */
const ROUNDS = 5;

/** Answers it. */
export async function getStreamCpuUs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  const stream = await server.api.createStream();
  const body = await server.api.getStream(stream.id);
  await using peer = await startPeer('bare-fastify.ts', { body });

  const path = `/api/stream/${stream.id}`;
  const targets = [
    { pid: server.pid, port: server.httpPort, path, headers: { authorization: `Bearer ${server.apiKey}` } },
    { pid: peer.pid, port: peer.answer, path, headers: {} },
  ];
  const costsUs = targets.map((): number[] => []);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [index, { pid, ...request }] of targets.entries()) {
      const spentMs = await cpuMsDuring(pid, () => ask(request));
      // The first round only warms up.
      if (round >= 0) costsUs[index]!.push((spentMs * 1000) / REQUESTS);
    }
  }
  const [ours, theirs] = costsUs.map(median) as [number, number];
  return [
    atMostTimes(
      'server CPU per `GET /stream/<id>`',
      ours,
      { name: 'bare Fastify route, same JSON', value: theirs },
      { times: 2.5, unit: 'µs' },
    ),
  ];
}

function ask(request: Pick<HttpLoad, 'port' | 'path' | 'headers'>) {
  return runHttpLoad({ ...request, connections: 10, limit: { requests: REQUESTS } });
}
