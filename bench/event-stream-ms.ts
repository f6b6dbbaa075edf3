/**
 * How long after an event have 1,000 readers of the event stream seen it?
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { percentile } from './support/statistics.ts';
import { changeStream } from './support/webhooks.ts';

const READERS = 1000;
const EVENTS = 40;
const PER_SECOND = 4;

/** Answers the question above. */
export async function eventStreamMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { ...MEASURED, MILLRACE_MAX_HTTP_CONNECTIONS: '3000' } });
  const delaysMs: number[] = [];
  const sockets: Socket[] = [];
  let ready = 0;
  for (let reader = 0; reader < READERS; reader += 1) {
    const socket = connect(server.httpPort, '127.0.0.1');
    sockets.push(socket);
    let isReady = false;
    socket.on('data', (bytes) => {
      const now = Date.now();
      const text = bytes.toString('latin1');
      if (!isReady && text.includes('retry: ')) {
        isReady = true;
        ready += 1;
      }
      for (const [, at] of text.matchAll(/"createdAt":(\d+)/g)) delaysMs.push(now - Number(at));
    });
    await once(socket, 'connect');
    socket.write(
      `GET /api/event/stream?type=stream.updated HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${server.apiKey}\r\n\r\n`,
    );
  }
  await waitFor(() => ready === READERS, { what: 'all readers', timeoutMs: 60_000 });
  await changeStream(server, EVENTS, PER_SECOND);
  await waitFor(() => delaysMs.length === EVENTS * READERS, { what: 'all events', timeoutMs: 60_000 });
  for (const socket of sockets) socket.destroy();
  return [atMost(`event -> seen by each of ${READERS} readers, p95`, percentile(delaysMs, 0.95), 100, 'ms')];
}
