import assert from 'node:assert/strict';
import { createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { ms } from '#lib/units.ts';
import { limitHandshakes } from './tls-handshakes.ts';

/** A ClientHello of 600 bytes. */
const HELLO = Buffer.concat([Buffer.of(22, 3, 1, 2, 92, 1, 0, 2, 88), Buffer.alloc(600)]);

/** A connection whose bytes arrive when a test pushes them. */
class FakeSocket extends Duplex {
  readonly remoteAddress: string;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  override _read(): void {}
}

/** A server that records the sockets whose handshakes begin. */
function started(exempt: readonly string[] = []) {
  const begun: FakeSocket[] = [];
  const server: Server = createServer((socket: Socket) => void begun.push(socket as unknown as FakeSocket));
  let time = 0;
  const clock = { now: () => ms(0), monotonic: () => ms(time) };
  limitHandshakes(server, { clock, isExempt: (address) => exempt.includes(address) });
  const open = (address: string, bytes = HELLO) => {
    const socket = new FakeSocket(address);
    server.emit('connection', socket as unknown as Socket);
    if (bytes.length > 0) socket.push(bytes);
    return socket;
  };
  /** Lets 20 ms pass, for the timers as well as for the clock. */
  const pass20 = async (t: TestContext) => {
    await settled();
    time += 20;
    t.mock.timers.tick(20);
    await settled();
  };
  return { begun, open, pass20 };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets everything happen that needs no time to pass. */
async function settled(): Promise<void> {
  for (let each = 0; each < 200; each += 1) await turn();
}

for (const [whose, trustedProxies] of [
  ['of a host', []],
  ['of a trusted proxy', ['192.0.2.1']],
] as const) {
  test(`handshakes ${whose} are begun one in each turn of the event loop`, async () => {
    const { begun, open } = started(trustedProxies);
    for (let each = 0; each < 20; each += 1) open('192.0.2.1');
    for (let turns = 0, before = 0; turns < 100; turns += 1, before = begun.length) {
      await turn();
      assert.ok(begun.length - before <= 1);
    }
    assert.equal(begun.length, 20);
  });
}

test('after its first twenty, a host begins one handshake every 20 ms, and connections of other hosts and of trusted proxies do not wait', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, open, pass20 } = started(['192.0.2.1']);
  const sockets = Array.from({ length: 50 }, () => open('198.51.100.1'));
  await settled();
  assert.equal(begun.length, 20);
  const others = ['192.0.2.1', '203.0.113.1'].flatMap((address) => Array.from({ length: 20 }, () => open(address)));
  await settled();
  assert.deepEqual(new Set(begun.slice(20)), new Set(others));
  for (const socket of sockets.slice(20, 30)) socket.destroy();
  for (let count = 1; count <= 20; count += 1) {
    await pass20(t);
    assert.equal(begun.length, 60 + count);
  }
  assert.deepEqual(begun.slice(60), sockets.slice(30), 'in their order, without those that have disconnected');
});

test('after handshakes of a host have waited, no more of them begin at once than its allowance has regained', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, open, pass20 } = started();
  for (let each = 0; each < 40; each += 1) open('192.0.2.1');
  for (let each = 0; each < 21; each += 1) await pass20(t);
  assert.equal(begun.length, 40);
  for (let each = 0; each < 20; each += 1) open('192.0.2.1');
  await settled();
  assert.ok(begun.length <= 42, `${begun.length - 40} more began at once`);
});

test('connections that are reset while they wait make no others begin sooner', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, open, pass20 } = started();
  for (let each = 0; each < 20; each += 1) open('192.0.2.1');
  await settled();
  for (let each = 0; each < 10; each += 1) {
    const reset = open('192.0.2.1');
    await settled();
    reset.destroy();
    await settled();
  }
  for (let each = 0; each < 50; each += 1) open('192.0.2.1');
  await pass20(t);
  assert.equal(begun.length, 21);
});

test('when a host becomes exempt, all of its waiting handshakes begin after the next pause', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const exempt: string[] = [];
  const { begun, open, pass20 } = started(exempt);
  for (let each = 0; each < 50; each += 1) open('192.0.2.1');
  for (let each = 0; each < 50; each += 1) open('192.0.2.2');
  await settled();
  assert.equal(begun.length, 40);
  exempt.push('192.0.2.1');
  await pass20(t);
  assert.equal(begun.length, 50 + 21);
});

test('a host has at most five hundred handshakes that wait', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { open } = started();
  const sockets = Array.from({ length: 530 }, () => open('192.0.2.1'));
  await settled();
  assert.equal(sockets.filter(({ destroyed }) => destroyed).length, 10);
});

test('connections that find no place to wait do not use up the allowance of their host', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, open } = started();
  const waiting = Array.from({ length: 520 }, () => open('192.0.2.1')).slice(20);
  await settled();
  const refused = Array.from({ length: 1000 }, () => open('192.0.2.1'));
  assert.ok(refused.every(({ destroyed }) => destroyed));
  for (const socket of waiting) socket.destroy();
  await settled();
  assert.equal(begun.length, 20);
  assert.equal(open('192.0.2.1').destroyed, false);
});

test('hosts take turns: a host with one connection does not wait for a host with many', async () => {
  const { begun, open } = started();
  for (let each = 0; each < 50; each += 1) open('192.0.2.1');
  const other = open('198.51.100.1');
  await settled();
  assert.ok(begun.indexOf(other) <= 2);
});

test('a handshake is begun when the ClientHello is complete, with all its bytes', async () => {
  const { begun, open } = started();
  const socket = open('192.0.2.1', Buffer.alloc(0));
  for (const piece of [HELLO.subarray(0, 3), HELLO.subarray(3, 500)]) {
    socket.push(piece);
    await settled();
    assert.deepEqual(begun, []);
  }
  socket.push(HELLO.subarray(500));
  await settled();
  assert.deepEqual(begun, [socket]);
  assert.deepEqual(socket.read(), HELLO);
});

test('no handshake is begun for a client whose ClientHello comes in too many pieces, is too large, or never ends', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, open } = started();
  const inBits = open('192.0.2.1', Buffer.alloc(0));
  for (const byte of HELLO.subarray(0, 16)) {
    inBits.push(Buffer.of(byte));
    await turn();
  }
  const large = open(
    '192.0.2.2',
    Buffer.concat([Buffer.of(22, 3, 1, 0xff, 0xff, 1, 0, 0xff, 0xff), Buffer.alloc(16_384)]),
  );
  const silent = open('192.0.2.3', Buffer.alloc(0));
  const ended = open('192.0.2.4', HELLO.subarray(0, 10));
  ended.push(null);
  await settled();
  assert.deepEqual(
    [inBits, large, silent, ended].map(({ destroyed }) => destroyed),
    [true, true, false, true],
  );
  t.mock.timers.tick(10_000);
  assert.equal(silent.destroyed, true);
  await settled();
  assert.deepEqual(begun, []);
});

test('no handshake waits for a client that has disconnected', async () => {
  const { begun, open } = started();
  for (let each = 0; each < 19; each += 1) open('192.0.2.1').destroy();
  const socket = open('192.0.2.1');
  await turn();
  await turn();
  assert.deepEqual(begun, [socket]);
});

test('a client that ends its connection while its handshake waits gives its place to the next', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, open, pass20 } = started();
  const sockets = Array.from({ length: 30 }, () => open('192.0.2.1'));
  await settled();
  for (const socket of sockets.slice(20, 29)) socket.push(null);
  await pass20(t);
  assert.deepEqual(begun.slice(20), [sockets[29]]);
  assert.ok(sockets.slice(20, 29).every(({ destroyed }) => destroyed));
});
