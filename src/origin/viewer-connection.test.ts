import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as requestPlain, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { request } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { mock, type TestContext, test } from 'node:test';
import { makeCertificate } from '#test/support/certificate.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { cutOffWhenStuck, hasLeft, writeBody } from './viewer-connection.ts';

/** The pieces of a segment: some parts, the last one small, one of them empty. */
const PIECES = [140_001, 60_000, 0, 65_536, 65_537, 10].map((size) => randomBytes(size));
const WHOLE = Buffer.concat(PIECES);
const UNCHECKED = { rejectUnauthorized: false };

/** A server that answers every request with the pieces. Gives its address, its responses and the number of bytes that were sent. */
async function serverOf(t: TestContext, pieces = PIECES, createServerOf = createEncryptedServer) {
  const sent = { bytes: 0 };
  const responses: ServerResponse[] = [];
  const server = createServerOf();
  server.on('request', (_request: unknown, given: unknown) => {
    // The HTTP/1.1 interface of the response, as Fastify passes it on.
    const response = given as ServerResponse;
    responses.push(response);
    response.writeHead(200, { 'content-length': Buffer.concat(pieces).length });
    writeBody(response, pieces, (sizeBytes) => {
      sent.bytes += sizeBytes;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { port, url: `https://127.0.0.1:${port}`, responses, sent };
}

/** As in `http`. */
const createEncryptedServer = (): Server =>
  createSecureServer({ ...makeCertificate(), allowHTTP1: true, maxSessionMemory: 20 });

test('two hundred viewers of one HTTP/2 connection get every byte', async (t) => {
  const { url } = await serverOf(t);
  const session = connectHttp2(url, UNCHECKED);
  t.after(() => session.destroy());
  const bodies = await Promise.all(Array.from({ length: 200 }, () => buffer(session.request({ ':path': '/' }))));
  assert.ok(bodies.every((body) => body.equals(WHOLE)));
});

test('a viewer over HTTPS/1.1 gets every byte', async (t) => {
  const { url } = await serverOf(t);
  const [response] = await once(request(url, { ...UNCHECKED, agent: false }).end(), 'response');
  assert.ok((await buffer(response)).equals(WHOLE));
});

test('a viewer who does not read holds a slice and not a segment, and its leaving is noticed', async (t) => {
  const { url, responses } = await serverOf(t);
  const session = connectHttp2(url, UNCHECKED);
  t.after(() => session.destroy());
  const stream = session.request({ ':path': '/' }).pause();
  stream.on('error', () => {});
  await waitFor(() => responses.length > 0, { what: 'the request' });
  const [response] = responses;
  assert.ok(response!.writableLength <= 65_536, `${response!.writableLength} bytes wait`);
  assert.equal(hasLeft(response!), false);
  stream.close();
  await waitFor(() => hasLeft(response!), { what: 'the viewer to leave' });
});

test('bytes count as sent when they were sent, over every kind of connection', async (t) => {
  const small = [randomBytes(1000)];
  for (const [pieces, size] of [
    [PIECES, WHOLE.length],
    [small, 1000],
  ] as const) {
    const secure = await serverOf(t, [...pieces]);
    const session = connectHttp2(secure.url, UNCHECKED);
    t.after(() => session.destroy());
    await buffer(session.request({ ':path': '/' }));
    await waitFor(() => secure.sent.bytes === size, { what: 'the bytes over HTTP/2' });
    const [response] = await once(request(secure.url, { ...UNCHECKED, agent: false }).end(), 'response');
    await buffer(response);
    await waitFor(() => secure.sent.bytes === 2 * size, { what: 'the bytes over HTTPS/1.1' });
    const plain = await serverOf(t, [...pieces], () => createServer());
    const [answer] = await once(requestPlain({ port: plain.port, agent: false }).end(), 'response');
    await buffer(answer);
    await waitFor(() => plain.sent.bytes === size, { what: 'the bytes over HTTP/1.1' });
  }
});

test('an answer that a viewer does not accept does not count as sent', async (t) => {
  for (const pieces of [PIECES, [randomBytes(1000)]]) {
    const { url, responses, sent } = await serverOf(t, pieces);
    // Over HTTP/2 a viewer says how much it accepts. This one accepts not one byte of a body.
    const session = connectHttp2(url, { ...UNCHECKED, settings: { initialWindowSize: 0 } });
    t.after(() => session.destroy());
    for (let count = 1; count <= 20; count += 1) {
      const stream = session.request({ ':path': '/' });
      stream.on('error', () => {});
      await once(stream, 'response');
      stream.close(8);
      await waitFor(() => responses.length === count && hasLeft(responses[count - 1]!), {
        what: 'the viewer to leave',
      });
    }
    assert.equal(sent.bytes, 0);
  }
  // Over HTTP/1.1 more than the buffers of the system hold is not sent to a viewer who reads nothing.
  const { port, responses, sent } = await serverOf(t, [Buffer.alloc(32_000_000)], () => createServer());
  const asked = requestPlain({ port, agent: false }).end();
  const [answer] = await once(asked, 'response');
  answer.on('error', () => {});
  asked.destroy();
  await waitFor(() => hasLeft(responses[0]!), { what: 'the viewer to leave' });
  assert.equal(sent.bytes, 0);
});

test('a viewer who reads nothing is disconnected after thirty seconds, however the answer is written', async (t) => {
  const { url, responses } = await serverOf(t);
  const asked = request(url, { ...UNCHECKED, agent: false }).end();
  const [answer] = await once(asked, 'response');
  t.after(() => asked.destroy());
  assert.equal(responses[0]!.socket!.timeout, 30_000);
  await buffer(answer);

  const plain = createServer((_request, response) => {
    responses.push(response);
    cutOffWhenStuck(response);
    response.writeHead(200).flushHeaders();
  }).listen(0, '127.0.0.1');
  t.after(() => plain.close());
  await once(plain, 'listening');
  const waiting = requestPlain({ port: (plain.address() as AddressInfo).port, agent: false }).end();
  await once(waiting, 'response');
  t.after(() => waiting.destroy());
  assert.equal(responses[1]!.socket!.timeout, 30_000);
});

test('a viewer who reads an answer byte by byte is disconnected after two minutes', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const responses: ServerResponse[] = [];
  const body = Buffer.alloc(32_000_000); // more than the system's buffers hold
  const server = createServer((_request, response) => {
    responses.push(response);
    response.writeHead(200);
    writeBody(response, [body]);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const asked = requestPlain({ port: (server.address() as AddressInfo).port, agent: false }).end();
  const [answer] = await once(asked, 'response');
  answer.on('error', () => {});
  mock.timers.tick(119_999);
  assert.equal(hasLeft(responses[0]!), false);
  mock.timers.tick(1);
  assert.equal(hasLeft(responses[0]!), true);
});
