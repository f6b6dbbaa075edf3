import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { HTTP1_OPTIONS } from '#http/plain-server.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { limitAnswers } from './answer-limits.ts';
import type { ApiInstance } from './api.ts';

const ANSWER = 'x'.repeat(1_048_576);

interface Sent {
  readonly status: number;
  readonly stream: ClientHttp2Stream;
}

test('at most 16 MiB of the answers to a user are unread, and the next is refused until some are read or given up', async (t) => {
  const http = fastify({ http2: true });
  http.addHook('onRequest', (request, _reply, done) => {
    Object.assign(request, { caller: { userId: request.headers['x-user'], keyId: 'key', quotas: {} } });
    done();
  });
  const costs: number[] = [];
  limitAnswers(http as unknown as ApiInstance, { addCost: (count) => void costs.push(count) });
  http.route({ method: ['GET', 'POST'], url: '/', handler: () => ANSWER });
  await http.listen({ host: '127.0.0.1', port: 0 });
  const sessions: ClientHttp2Session[] = [];
  t.after(async () => {
    for (const session of sessions) session.destroy();
    await http.close();
  });
  /** Sends a request, and reads the status of its answer only. Flow control keeps all but the first 64 KiB of the rest at the server. */
  const ask = async (user: string, method = 'GET'): Promise<Sent> => {
    const session = connect(`http://127.0.0.1:${(http.server.address() as AddressInfo).port}`);
    sessions.push(session);
    const stream = session.request({ ':path': '/', ':method': method, 'x-user': user }, { endStream: true });
    stream.on('error', () => {});
    const [headers] = await once(stream, 'response');
    return { status: headers[':status'] as number, stream };
  };

  const sent: Sent[] = [];
  for (let count = 0; count < 16; count += 1) sent.push(await ask('ann'));
  assert.ok(sent.every(({ status }) => status === 200));
  assert.deepEqual(costs, Array(16).fill(16), 'each costs as much as 16 further requests');
  const refused = await ask('ann');
  assert.equal(refused.status, 429);
  assert.equal(JSON.parse((await buffer(refused.stream)).toString()).code, 'too_many_requests');
  assert.equal((await ask('bob')).status, 200, 'another user is not affected');
  assert.equal((await ask('ann', 'POST')).status, 200, 'what another method has done is answered');

  assert.equal((await buffer(sent[0]!.stream)).length, ANSWER.length);
  await waitFor(async () => (await ask('ann')).status === 200, { what: 'the place of the answer that was read' });
  sent[1]!.stream.close();
  await waitFor(async () => (await ask('ann')).status === 200, { what: 'the place of a cancelled answer' });
  assert.equal((await ask('ann')).status, 429);
});

test('answers that wait for others of their connection are given up when the connection breaks', async (t) => {
  const http = fastify({ http: HTTP1_OPTIONS });
  http.addHook('onRequest', (request, _reply, done) => {
    Object.assign(request, { caller: { userId: 'ann', keyId: 'key', quotas: {} } });
    done();
  });
  limitAnswers(http as unknown as ApiInstance, { addCost: () => {} });
  // Too large for the buffers of the connection.
  http.get('/', () => ANSWER.repeat(8));
  http.get('/twice', () => ANSWER.repeat(16));
  await http.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => http.close());
  const { port } = http.server.address() as AddressInfo;

  const client = connectTcp(port, '127.0.0.1').pause();
  const status = async (url: string) => (await http.inject(url)).statusCode;
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2));
  await waitFor(async () => (await status('/')) === 429, { what: 'two unread answers' });
  client.destroy();
  await waitFor(async () => (await status('/twice')) === 200, { what: 'the places of both answers' });
});

for (const [version, options] of [
  ['HTTP/1.1', { http: HTTP1_OPTIONS }],
  ['HTTP/2', { http2: true }],
] as const) {
  test(`an answer over ${version} is not counted as unread when its client left before it was made`, async (t) => {
    const http = fastify(options as { http: typeof HTTP1_OPTIONS });
    http.addHook('onRequest', (request, _reply, done) => {
      Object.assign(request, { caller: { userId: 'ann', keyId: 'key', quotas: {} } });
      done();
    });
    limitAnswers(http as unknown as ApiInstance, { addCost: () => {} });
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    let arrived = 0;
    let gone = 0;
    let answered = 0;
    http.get('/slow', async (_request, reply) => {
      arrived += 1;
      reply.raw.once('close', () => (gone += 1));
      await left;
      setImmediate(() => (answered += 1));
      return ANSWER.repeat(16);
    });
    http.get('/', () => ANSWER);
    await http.listen({ host: '127.0.0.1', port: 0 });
    t.after(() => http.close());
    const { port } = http.server.address() as AddressInfo;

    const ask = () => {
      if (version === 'HTTP/1.1') {
        const client = connectTcp(port, '127.0.0.1');
        client.write('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
        return client;
      }
      const client = connect(`http://127.0.0.1:${port}`);
      client.request({ ':path': '/slow' }).on('error', () => {});
      return client;
    };
    const client = ask();
    await waitFor(() => arrived === 1, { what: 'the request' });
    client.destroy();
    await waitFor(() => gone === 1, { what: 'the end of its connection' });
    leave();
    await waitFor(() => answered === 1, { what: 'the answer' });
    assert.equal((await http.inject('/')).statusCode, 200);
  });
}
