import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { waitFor } from '#test/support/wait-for.ts';
import { PresentedKeys } from './presented-key.ts';

/** Makes a function that reads the key of a request with this `authorization` header on a connection. */
function reader(): (authorization: string, connection: Socket) => ReturnType<PresentedKeys['of']> {
  const keys = new PresentedKeys();
  return (authorization, connection) => keys.of({ headers: { authorization }, raw: new IncomingMessage(connection) });
}

test('a connection that presents the same key again gets the same secret, and any other key gets another one', () => {
  const of = reader();
  const [socket, other] = [new Socket(), new Socket()];
  const first = of('Bearer one', socket);
  assert.equal(of('Bearer one', socket), first);
  assert.notEqual(of('Bearer one', other), first);
  for (const text of ['two', 'one2', 'on', 'One']) assert.equal(of(`Bearer ${text}`, socket).reveal(), text, text);
  assert.equal(of('Bearer one', socket).reveal(), 'one');
  assert.throws(() => of('', socket), /needs an API key/);
});

test('requests of an HTTP/2 connection that present the same key get the same secret', () => {
  const keys = new PresentedKeys();
  const session = {};
  const requestIn = (connection: object) => {
    const raw = Object.assign(new IncomingMessage(new Socket()), { stream: { session: connection } });
    return keys.of({ headers: { authorization: 'Bearer one' }, raw });
  };
  const first = requestIn(session);
  assert.equal(requestIn(session), first);
  assert.notEqual(requestIn({}), first);
});

test('for a connection, neither a long header is kept in memory, nor a buffer that other connections share', async () => {
  const of = reader();
  const long = `Bearer ${'x'.repeat(1000)}`;
  const socket = new Socket();
  assert.notEqual(of(long, socket), of(long, socket));
  assert.equal(of(long, socket).reveal(), 'x'.repeat(1000));

  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().arrayBuffers;
  const sockets = Array.from({ length: 100 }, () => {
    const connection = new Socket();
    of('Bearer one', connection);
    // Short buffers are slices of a pool. Other requests use it up, so that the next connection has a slice of another pool.
    for (let each = 0; each < 100; each += 1) Buffer.from('x'.repeat(1000), 'latin1');
    return connection;
  });
  // A thread of V8's own frees the memory of collected buffers, a little later on a busy machine.
  const isLittleKept = () => {
    collect();
    return (process.memoryUsage().arrayBuffers - before) / sockets.length < 10_000;
  };
  await waitFor(isLittleKept, { what: 'memory of the pools', timeoutMs: 20_000 });
});
