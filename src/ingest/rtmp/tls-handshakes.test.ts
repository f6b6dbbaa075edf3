import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { ms } from '#lib/units.ts';
import { TlsHandshakes } from './tls-handshakes.ts';

/** The most handshakes under way. Six of them are reserved for hosts that published before. */
const LIMIT = 24;
const TIMEOUT_MS = 5000;

/** A socket whose first byte the test sends. */
class FakeSocket extends Duplex {
  override _read(): void {}
}

function started() {
  const begun: number[] = [];
  const evicted: number[] = [];
  const givenUp: [id: number, why: string | undefined][] = [];
  const secured = new Map<number, EventEmitter>();
  const handshakes = new TlsHandshakes(
    {
      secure: () => new EventEmitter() as TLSSocket,
      onBegun: ({ id }, socket) => {
        begun.push(id);
        secured.set(id, socket);
      },
      onGivenUp: ({ id }, why) => void givenUp.push([id, why]),
      onEvicted: (id) => {
        evicted.push(id);
        handshakes.leave(id);
      },
    },
    { timeoutMs: TIMEOUT_MS, now: ms(0) },
  );
  let lastId = 0;
  /** Opens a connection. @param options.isSilent the connection sends no first byte */
  const open = (address: string, { isKnown = false, isSilent = false, openedAt = 0 } = {}) => {
    lastId += 1;
    const socket = new FakeSocket();
    handshakes.add({ id: lastId, socket: socket as unknown as Socket, address, isKnown, openedAt: ms(openedAt) });
    if (!isSilent) socket.push(Buffer.of(22));
    return { id: lastId, socket };
  };
  return { handshakes, begun, evicted, givenUp, secured, open };
}

/** Gives pending work enough turns of the event loop to finish. The clock of the test stands still. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const stranger = (index: number) => `10.${index}.0.1`;

describe('TLS handshakes', () => {
  it('begin one in each turn of the event loop, and a limited number is under way', async () => {
    const { begun, secured, open } = started();
    for (let index = 0; index < 100; index++) open(stranger(index));
    let before = 0;
    for (let turn = 0; turn < 50; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(begun.length - before <= 1);
      before = begun.length;
    }
    assert.equal(begun.length, (LIMIT * 3) / 4);
    secured.get(begun[0]!)!.emit('secure');
    await settled();
    assert.equal(begun.length, (LIMIT * 3) / 4 + 1, 'a handshake that is done makes room for the next');
  });

  it('do not begin for connections that have sent nothing, which are closed at the timeout', async () => {
    const { handshakes, begun, givenUp, open } = started();
    const { id, socket } = open(stranger(1), { isSilent: true });
    await settled();
    handshakes.tick(ms(TIMEOUT_MS - 1));
    assert.deepEqual([begun, givenUp], [[], []]);
    handshakes.tick(ms(TIMEOUT_MS));
    assert.deepEqual([begun, givenUp], [[], [[id, 'handshake_timeout']]]);
    assert.equal(socket.destroyed, true);
  });

  it('of hosts that published before begin even when strangers of many networks hold all other places', async () => {
    const { begun, open } = started();
    for (let index = 0; index < 100; index++) open(stranger(index));
    await settled();
    const { id } = open('203.0.113.7', { isKnown: true });
    await settled();
    assert.equal(begun.at(-1), id);
  });

  it('of the network that has the most give up a place to a connection that has waited for long', async () => {
    const { handshakes, begun, evicted, open } = started();
    for (let index = 0; index < 50; index++) open('192.0.2.1');
    await settled();
    const { id } = open('198.51.100.1');
    await settled();
    assert.equal(begun.includes(id), false, 'at first it waits for a place to become free');
    handshakes.tick(ms(500));
    await settled();
    assert.equal(begun.at(-1), id);
    assert.deepEqual(evicted, [begun[0]]);
  });

  it('do not begin for connections that have closed or were evicted meanwhile', async () => {
    const { handshakes, begun, givenUp, secured, open } = started();
    for (let index = 0; index < 18; index++) open(stranger(index));
    await settled();
    const waiting = open('198.51.100.1');
    await settled();
    waiting.socket.destroy();
    const evicted = open('198.51.100.2', { isSilent: true });
    handshakes.evict(evicted.id, 'place_needed_by_others');
    await settled();
    for (const socket of secured.values()) socket.emit('secure');
    await settled();
    assert.equal(begun.length, 18);
    assert.deepEqual(givenUp, [
      [evicted.id, 'place_needed_by_others'],
      [waiting.id, undefined],
    ]);
  });
});
