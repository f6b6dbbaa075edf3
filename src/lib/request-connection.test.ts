import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, createServer as createHttp2Server, type Http2ServerRequest } from 'node:http2';
import { type AddressInfo, connect as connectTcp, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { connectionOf } from './request-connection.ts';

async function portOf(t: TestContext, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('all requests of an HTTP/2 connection get the same object, and requests of another connection get another one', async (t) => {
  const seen: object[] = [];
  const server = createHttp2Server((request: Http2ServerRequest, response) => {
    seen.push(connectionOf(request as unknown as IncomingMessage));
    response.end();
  });
  const port = await portOf(t, server);
  for (const requests of [2, 1]) {
    const session = connect(`http://127.0.0.1:${port}`);
    for (let each = 0; each < requests; each += 1) await text(session.request({ ':path': '/' }));
    session.close();
  }
  assert.equal(seen[0], seen[1]);
  assert.notEqual(seen[0], seen[2]);
});

test('all requests of an HTTP/1.1 connection get the same object', async (t) => {
  const seen = new Set<object>();
  let requests = 0;
  const server = createServer((request, response) => {
    seen.add(connectionOf(request));
    requests += 1;
    response.end();
  });
  const socket = connectTcp(await portOf(t, server), '127.0.0.1');
  const get = 'GET / HTTP/1.1\r\nhost: a\r\n';
  socket.write(`${get}\r\n${get}connection: close\r\n\r\n`);
  await text(socket);
  assert.deepEqual([requests, seen.size], [2, 1]);
});
