/**
 * Webhooks on a measured server, and a receiver that notes when each delivery came.
 */

import type { TestServer } from '../../test/support/server.ts';
import { startReceiver } from '../../test/support/webhook-receiver.ts';

/** The settings of the server in these benches. */
export const LAB = { MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' } as const;

/** A receiver with what it measured. */
export async function startMeasuringReceiver() {
  const receiver = await startReceiver();
  /** Milliseconds from each event to its arrival, by the clock of this machine. */
  const delaysMs: number[] = [];
  receiver.answer = ({ body }) => {
    delaysMs.push(Date.now() - body.createdAt);
    return { status: 200 };
  };
  return {
    url: receiver.url,
    delaysMs,
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

/** Makes webhooks that get every change of a stream. */
export async function createWebhooks({ api }: TestServer, url: string, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    const response = await api.request('POST', '/webhook', { name: 'bench', url, events: ['stream.updated'] });
    if (response.status !== 200) throw new Error(await response.text());
  }
}

/** Changes a stream, one change after another, with a limit for each second. */
export async function changeStream({ api }: TestServer, times: number, perSecond: number): Promise<void> {
  const { id } = await api.createStream();
  const start = performance.now();
  for (let change = 0; change < times; change += 1) {
    const response = await api.request('PATCH', `/stream/${id}`, { name: `${change}` });
    if (response.status !== 204) throw new Error(await response.text());
    const aheadMs = (change + 1) * (1000 / perSecond) - (performance.now() - start);
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
}
