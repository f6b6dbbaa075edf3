import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { DestinationGuard } from '#lib/destination-guard.ts';
import { Sender } from './sender.ts';

const userId = newUserId();
const never = new AbortController().signal;

/** A server that answers as the test says, and a sender that may reach it. */
async function setUp(t: TestContext, answer: Parameters<typeof createServer>[1], resolve?: () => Promise<string[]>) {
  const server = createServer(answer as never).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const guard = new DestinationGuard({ allowPrivate: true, ...(resolve && { resolve }) });
  const sender = new Sender({ guard, clock: systemClock });
  t.after(async () => {
    await sender[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const post = (host = '127.0.0.1', by = userId) =>
    sender.post(`http://${host}:${port}/x`, { userId: by, headers: { 'x-test': 'yes' }, body: '{}', signal: never });
  return { post, server };
}

test('the connection goes to the address that was checked, with the host name of the URL', async (t) => {
  const hosts: (string | undefined)[] = [];
  const answer = (request: { headers: { host?: string } }, response: { end(text: string): void }) => {
    hosts.push(request.headers.host);
    response.end('hello');
  };
  // The host name can only be resolved by the guard.
  const { post, server } = await setUp(t, answer as never, async () => ['127.0.0.1']);
  const sent = await post('no-such-host.invalid');
  assert.deepEqual([sent.statusCode, sent.body.toString(), sent.isComplete], [200, 'hello', true]);
  assert.deepEqual(hosts, [`no-such-host.invalid:${(server.address() as AddressInfo).port}`]);
});

test('redirects are not followed, and Retry-After is returned', async (t) => {
  let requests = 0;
  const { post } = await setUp(t, ((
    _: unknown,
    response: { writeHead(status: number, headers: object): typeof response; end(): void },
  ) => {
    requests += 1;
    response.writeHead(302, { location: 'http://127.0.0.1:1/', 'retry-after': '7' }).end();
  }) as never);
  const sent = await post();
  assert.deepEqual([sent.statusCode, sent.retryAfter, requests], [302, '7', 1]);
});

test('a user whose receivers are slow delays nobody else who has receivers at the same host', async (t) => {
  const held: { end(): void }[] = [];
  const slow = Promise.withResolvers<void>();
  const { post } = await setUp(t, ((_: unknown, response: { end(): void }) => {
    // A user may have this many requests in progress, and none waits for a connection.
    if (held.length === 100) response.end();
    else if (held.push(response) === 100) slow.resolve();
  }) as never);
  const posts = Array.from({ length: 100 }, () => post());
  await slow.promise;
  assert.equal((await post('127.0.0.1', newUserId())).statusCode, 200);
  for (const response of held) response.end();
  for (const sent of posts) assert.equal((await sent).statusCode, 200);
});

test('only the beginning of a long answer is read', async (t) => {
  let written = 0;
  const { post } = await setUp(t, ((_: unknown, response: NodeJS.WritableStream) => {
    const write = (): void => {
      while (written < 64 * 1024 * 1024) {
        written += 65_536;
        if (!response.write('x'.repeat(65_536))) {
          response.once('drain', write);
          return;
        }
      }
      response.end();
    };
    response.on('error', () => {});
    write();
  }) as never);
  const sent = await post();
  assert.deepEqual([sent.statusCode, sent.body.toString(), sent.isComplete], [200, 'x'.repeat(16_384), false]);
  assert.ok(written < 32 * 1024 * 1024, `${written} bytes were sent`);
});

test('an answer whose body never ends is judged by its status', async (t) => {
  const { post } = await setUp(
    t,
    ((_: unknown, response: NodeJS.WritableStream) => void response.write('part')) as never,
  );
  const { statusCode, body, isComplete } = await post();
  assert.deepEqual([statusCode, body.toString(), isComplete], [200, 'part', false]);
});

test('a missing answer is described in a sentence without the address', async (t) => {
  const { post, server } = await setUp(t, ((request: { socket: { destroy(): void } }) =>
    request.socket.destroy()) as never);
  assert.deepEqual(
    [(await post()).statusCode, (await post()).error],
    [undefined, 'The connection was closed before the answer.'],
  );
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  assert.equal((await post()).error, 'The connection was refused.');
});

test('a private address is refused without a connection', async (t) => {
  const sender = new Sender({ guard: new DestinationGuard({ allowPrivate: false }), clock: systemClock });
  t.after(() => sender[Symbol.asyncDispose]());
  const sent = await sender.post('http://127.0.0.1:1/', { userId, headers: {}, body: '', signal: never });
  assert.equal(sent.error, 'The URL leads to a private, local or reserved address.');
});
