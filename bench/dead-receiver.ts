/**
 * How much later do 99 receivers get events because a hundredth one never answers?
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type Answer, atMostTimes } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { percentile } from './support/statistics.ts';
import { changeStream, createWebhooks, LAB, startMeasuringReceiver } from './support/webhooks.ts';

const OTHERS = 99;
const EVENTS = 60;
const PER_SECOND = 4;

/** Answers the question above. */
export async function deadReceiver(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { ...MEASURED, ...LAB } });
  await using receiver = await startMeasuringReceiver();
  const { delaysMs } = receiver;
  // Accepts connections and says nothing.
  const dead = createServer((socket) => void socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(dead, 'listening');
  const address = dead.address();
  if (address === null || typeof address === 'string') throw new Error('there is no port');
  await createWebhooks(server, receiver.url, OTHERS);

  const measure = async () => {
    delaysMs.length = 0;
    await changeStream(server, EVENTS, PER_SECOND);
    await waitFor(() => delaysMs.length === EVENTS * OTHERS, { what: 'the deliveries', timeoutMs: 60_000 });
    return percentile(delaysMs, 0.95);
  };
  await measure();
  const without = await measure();
  await createWebhooks(server, `http://127.0.0.1:${address.port}/`, 1);
  const beside = await measure();
  dead.close();
  const peer = { name: 'without it', value: without };
  return [atMostTimes('p95 of 99 receivers beside a dead one', beside, peer, { times: 1.2, unit: 'ms' })];
}
