import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Waiting } from '#hls/hls.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { HeldRequests } from './held-requests.ts';

test('one connection cannot take all places by sending requests without waiting for answers', async (t) => {
  const held = new HeldRequests(1000);
  const answer = Promise.withResolvers<string>();
  const refused: unknown[] = [];
  const server = createServer((_request, response) => {
    held
      .hold(response, '127.0.0.1', async (waiting) => {
        waiting.signal.throwIfAborted();
        return await answer.promise;
      })
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
  await waitFor(() => refused.length === 42 && held.count === 9, { what: 'every request to be held or refused' });
  answer.resolve('here');
  await waitFor(() => received[0]!().length === 50 && received[1]!().length === 1, { what: 'all answers' });
  assert.deepEqual(received[0]!(), [...Array(8).fill('200'), ...Array(42).fill('503')]);
  assert.deepEqual(received[1]!(), ['200']);
  clients[0]!.write(request);
  await waitFor(() => received[0]!().at(-1) === '200', { what: 'an answer to a request that is sent alone' });
});

/** Held requests, and a function that sends a request over a connection of its own and waits until it loses its place. */
async function heldBy(t: TestContext, limit: number) {
  const held = new HeldRequests(limit);
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => responses.push(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const hold = async (from: string) => {
    const count = responses.length;
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    t.after(() => client.destroy());
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await waitFor(() => responses.length > count, { what: 'the request' });
    const state = { code: '' };
    const wait = ({ signal }: Waiting) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    held.hold(responses.at(-1)!, from, wait).catch(({ code }) => {
      state.code = code;
    });
    return state;
  };
  return { held, hold, responses };
}

test('when all places are taken, the network that holds the most loses its oldest one to a request of another network', async (t) => {
  const { held, hold } = await heldBy(t, 4);
  const attacker = [await hold('127.0.9.1'), await hold('127.0.9.1'), await hold('127.0.9.2'), await hold('127.0.9.1')];
  const refused = await hold('127.0.9.1');
  const victims = [await hold('127.0.1.1'), await hold('127.0.2.1')];
  await waitFor(() => attacker[0]!.code !== '', { what: 'the oldest to be released' });
  assert.deepEqual(
    [...attacker, refused, ...victims].map(({ code }) => code),
    ['too_many_viewers', 'too_many_viewers', '', '', 'too_many_viewers', '', ''],
  );
  assert.equal(held.count, 4);
});

test('a request that can be answered at once takes no place, and is answered although all places are taken', async (t) => {
  const { held, hold, responses } = await heldBy(t, 1);
  await hold('127.0.0.1');
  assert.equal(await held.hold(responses[0]!, '127.0.0.1', async () => 'here'), 'here');
  assert.equal(held.count, 1);
});
