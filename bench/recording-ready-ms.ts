/**
 * How long after its publisher has stopped is a recording ready?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../test/support/rtmp-client.ts';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type Answer, atMost } from './support/question.ts';
import { sendPaced } from './support/sender.ts';
import { MEASURED } from './support/settings.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const ROUNDS = 5;
const LENGTH_MS = 5000;
const LIMIT_MS = 1000;

/** Answers the question above. */
export async function recordingReadyMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  let slowestMs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const stream = await server.api.createStream({ record: true });
    const client = await RtmpClient.publish(server.rtmpPort, stream.streamKey);
    const stop = new AbortController();
    const sent = sendPaced(client, stream.streamKey, SHAPE, { signal: stop.signal });
    await sleep(LENGTH_MS);
    stop.abort();
    const stoppedAtMs = performance.now();
    await waitFor(
      async () => {
        const answer = await server.api.request('GET', `/stream/${stream.id}/sessions`);
        const [session] = (await answer.json()) as { recordingStatus?: string }[];
        return session?.recordingStatus === 'ready';
      },
      { what: 'the recording to be ready' },
    );
    slowestMs = Math.max(slowestMs, performance.now() - stoppedAtMs);
    await sent;
  }
  return [atMost(`recording ready after its publisher stopped, the slowest of ${ROUNDS}`, slowestMs, LIMIT_MS, 'ms')];
}
