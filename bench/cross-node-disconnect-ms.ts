/**
 * How long after a stream was suspended at one node is its publisher at another node disconnected, and the next one refused there?
 */
import { fixtureTags } from '../test/support/flv-file.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { RtmpClient, RtmpRefusedError } from '../test/support/rtmp-client.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type Answer, atMost } from './support/question.ts';
import { percentile } from './support/statistics.ts';

const ROUNDS = 40;

/** Answers the question above. */
export async function crossNodeDisconnectMs(): Promise<readonly Answer[]> {
  await using postgres = await startPostgres();
  const settings = { MILLRACE_DATABASE_URL: await postgres.newDatabase(), MILLRACE_LOG_LEVEL: 'info' };
  await using one = await startServerProcess({ settings });
  await using other = await startServerProcess({ settings, apiKey: one.apiKey });
  const disconnects: number[] = [];
  const refusals: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { disconnectedMs, refusedMs } = await suspendOnce(one, other);
    disconnects.push(disconnectedMs);
    refusals.push(refusedMs);
  }
  const p95 = `p95 of ${ROUNDS}`;
  return [
    atMost(`publisher disconnected after suspend on another node, ${p95}`, percentile(disconnects, 0.95), 1000, 'ms'),
    atMost(`publish refused after suspend on another node, ${p95}`, percentile(refusals, 0.95), 1000, 'ms'),
  ];
}

/** Both times count from the moment the suspension is asked for. */
async function suspendOnce(publishAt: TestServer, askAt: TestServer) {
  const { id, streamKey } = await publishAt.api.createStream();
  await using client = await RtmpClient.publish(publishAt.rtmpPort, streamKey);
  client.tags(fixtureTags());
  await waitFor(async () => (await publishAt.api.getStream(id)).isActive, { what: 'the stream to be active' });
  const askedAt = performance.now();
  const closed = new Promise<number>((resolve) => client.socket.once('close', () => resolve(performance.now())));
  const answer = await askAt.api.request('PATCH', `/stream/${id}/suspended`, { suspended: true });
  if (!answer.ok) throw new Error(`not suspended: ${answer.status}`);
  const disconnectedMs = (await closed) - askedAt;
  await RtmpClient.publish(publishAt.rtmpPort, streamKey).then(
    () => Promise.reject(new Error('a suspended stream was published')),
    (error: unknown) => {
      if (!(error instanceof RtmpRefusedError)) throw error;
    },
  );
  return { disconnectedMs, refusedMs: performance.now() - askedAt };
}
