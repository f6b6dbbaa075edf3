/**
 * How many streams a second can 16 clients create, each durable before its 201, against one-row durable commits of SQLite
 * alone on the same disk?
 */
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { runHttpLoad } from './support/http-load.ts';
import { startPeer } from './support/peer-process.ts';
import { type Answer, atLeastTimes } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { inRounds } from './support/statistics.ts';

const SECONDS = 4;
const ROUNDS = 3;

/** Answers the question above. */
export async function durableCreatesPerS(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  const { ours, theirs } = await inRounds(ROUNDS, {
    ours: () => createFor(server),
    theirs: async () => {
      // Its folder is the server's: the same disk.
      await using peer = await startPeer('sqlite-commits.ts', { folder: server.dataDir, seconds: SECONDS });
      return peer.answer;
    },
  });
  const peer = { name: 'one-row durable commits of SQLite alone', value: theirs };
  return [atLeastTimes('durable creates with 16 clients', ours, peer, { times: 1, unit: '/s' })];
}

async function createFor({ httpPort, apiKey }: TestServer): Promise<number> {
  const { answered, seconds } = await runHttpLoad({
    port: httpPort,
    method: 'POST',
    path: '/api/stream',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', profiles: [] }),
    connections: 16,
    limit: { seconds: SECONDS },
  });
  return answered / seconds;
}
