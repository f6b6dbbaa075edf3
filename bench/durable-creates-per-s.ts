/**
 * How many streams a second can 16 clients create, each durable before its 201, against one-row durable commits of SQLite
 * alone on the same disk?
 */
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { runHttpLoad } from './support/http-load.ts';
import { startPeer } from './support/peer-process.ts';
import { type Answer, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { median } from './support/statistics.ts';

const SECONDS = 4;
const ROUNDS = 3;

/** Answers it. */
export async function durableCreatesPerS(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  const creates: number[] = [];
  const commits: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    creates.push(await createFor(server));
    // Its folder is the server's: the same disk.
    await using peer = await startPeer('sqlite-commits.ts', { folder: server.dataDir, seconds: SECONDS });
    commits.push(peer.answer);
  }
  const [ours, theirs] = [median(creates), median(commits)];
  return [
    {
      question: 'durable creates with 16 clients',
      measured: `${show(ours)} /s`,
      against: `one-row durable commits of SQLite alone ${show(theirs)} /s`,
      ratio: ours / theirs,
      mustReach: '>= 1.0x',
      reached: ours >= theirs,
    },
  ];
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
