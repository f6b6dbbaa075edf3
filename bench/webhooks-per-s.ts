/**
 * How many deliveries a second does a server make to a fast receiver on the same machine, and how long after an event is the first
 * attempt?
 */
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type Answer, atLeast, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { percentile } from './support/statistics.ts';
import { changeStream, createWebhooks, LAB, startMeasuringReceiver } from './support/webhooks.ts';

const WEBHOOKS = 20;
const EVENTS = 300;
const CLIENTS = 8;

/** Answers the question above. */
export async function webhooksPerS(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { ...MEASURED, ...LAB } });
  await using receiver = await startMeasuringReceiver();
  const { delaysMs } = receiver;
  await createWebhooks(server, receiver.url, 1);
  await changeStream(server, 100, 20);
  await waitFor(() => delaysMs.length === 100, { what: 'the deliveries' });
  const p95 = percentile(delaysMs.slice(20), 0.95);

  await createWebhooks(server, receiver.url, WEBHOOKS - 1);
  delaysMs.length = 0;
  const start = performance.now();
  await Promise.all(Array.from({ length: CLIENTS }, () => changeStream(server, EVENTS, 10_000)));
  const wanted = CLIENTS * EVENTS * WEBHOOKS;
  await waitFor(() => delaysMs.length >= wanted, { what: 'the deliveries', timeoutMs: 120_000 });
  const perSecond = (wanted * 1000) / (performance.now() - start);
  return [
    atLeast(`deliveries to a fast receiver, ${WEBHOOKS} webhooks for each event`, perSecond, 1000, '/s'),
    atMost('event -> first attempt, p95, 20 events a second', p95, 100, 'ms'),
  ];
}
