import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { waitFor } from '#test/support/wait-for.ts';
import { HeldRequests } from './held-requests.ts';

test('one connection cannot take every place there is by sending requests without waiting for answers', async (t) => {
  const held = new HeldRequests(1000);
  const answer = Promise.withResolvers<string>();
  const refused: unknown[] = [];
  const server = createServer((_request, response) => {
    held
      .hold(response, () => answer.promise)
      .then(
        (text) => response.end(text),
        (error) => response.writeHead(503).end(String(refused.push(error.message))),
      );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  t.after(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  const received = clients.map((client) => {
    let text = '';
    client.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    return () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  });
  const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
  clients[0]!.write(request.repeat(50));
  clients[1]!.write(request);
  await waitFor(() => refused.length === 42 && held.count === 9, { what: 'everybody held or refused' });
  answer.resolve('here');
  await waitFor(() => received[0]!().length === 50 && received[1]!().length === 1, { what: 'all answers' });
  assert.deepEqual(received[0]!(), [...Array(8).fill('200'), ...Array(42).fill('503')]);
  assert.deepEqual(received[1]!(), ['200']);
  clients[0]!.write(request);
  await waitFor(() => received[0]!().at(-1) === '200', { what: 'an answer to one who waits for it' });
});
