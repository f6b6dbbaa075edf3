/**
 * Tests how much work one connection may cause, on a socket whose reads the test decides.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { ms } from '#lib/units.ts';
import { type AmfValue, encodeAmf0 } from '#media/rtmp/amf0.ts';
import { ChunkWriter } from '#media/rtmp/chunk-writer.ts';
import { HANDSHAKE_BYTES } from '#media/rtmp/handshake.ts';
import { commandMessage, MESSAGE, type Message } from '#media/rtmp/message.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { GOOD_KEY, RecordingGate } from '#test/support/recording-gate.ts';
import { defaultRtmpSettings } from '#test/support/rtmp-server.ts';
import { Connection } from './connection.ts';

/** A socket without a network. */
class FakeSocket extends Duplex {
  /** Whether the other side reads what is written. */
  isTaken = true;

  setNoDelay(): this {
    return this;
  }

  override _read(): void {}

  override _write(_bytes: Buffer, _encoding: string, done: () => void): void {
    if (this.isTaken) done();
  }

  override _writev(_chunks: unknown, done: () => void): void {
    if (this.isTaken) done();
  }

  /** Delivers bytes of the other side in one read. */
  receive(bytes: Buffer): void {
    this.emit('data', bytes);
  }
}

/** @param readMs by how much the clock advances each time it is read */
function opened({ readMs = 0 } = {}) {
  let time = 0;
  const monotonic = () => {
    time += readMs;
    return ms(time);
  };
  const clock = { now: () => ms(0), monotonic };
  const socket = new FakeSocket();
  const gate = new RecordingGate();
  const faults: (string | undefined)[] = [];
  const connection = new Connection(socket as unknown as Socket, {
    id: 1,
    owner: {
      onClosed: (_, fault) => void faults.push(fault),
      onAccepted: () => {},
      onUnpublished: () => {},
      onMediaBytes: () => {},
    },
    settings: defaultRtmpSettings(),
    gate,
    clock,
    logger: silentLogger,
    lines: new CountedLines(silentLogger),
    isShown: () => true,
    scheme: 'rtmp',
    remoteAddress: '192.0.2.1',
    openedAt: ms(0),
  });
  const writer = new ChunkWriter();
  const send = (...messages: readonly Message[]) =>
    socket.receive(Buffer.concat(messages.map((each) => writer.write(each))));
  const command = (...values: readonly AmfValue[]) => commandMessage(encodeAmf0(...values), 0);
  const connect = () => command('connect', 1, new Map([['app', 'live']]));
  socket.receive(Buffer.concat([Buffer.of(3), Buffer.alloc(2 * HANDSHAKE_BYTES)]));
  const publish = async () => {
    send(connect(), command('publish', 2, null, GOOD_KEY, 'live'));
    await gate.until('a publish', () => gate.publications.length === 1);
    while (socket.isPaused()) await nextTurn();
  };
  return { socket, connection, gate, faults, send, command, connect, publish };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const video = (length: number): Message => {
  return { type: MESSAGE.video, streamId: 1, timestamp: 0, chunkStreamId: 4, payload: Buffer.alloc(length, 0x27) };
};

describe('a connection', () => {
  it('that does not publish ends when its bytes come in more reads than those of any encoder', async () => {
    const { socket, faults, connect } = opened();
    const bytes = new ChunkWriter().write(connect());
    for (let count = 0; count < 200 && !socket.destroyed; count++) socket.receive(bytes.subarray(0, 0));
    assert.equal(socket.destroyed, true);
    await once(socket, 'close');
    assert.deepEqual(faults, ['flood']);
  });

  it('is silent for the time in which nothing was received', async () => {
    const { socket, connection, gate, publish } = opened();
    await publish();
    const silentAt = (time: number) => {
      connection.tick(ms(time));
      return gate.publication.silentMs;
    };
    assert.deepEqual([silentAt(100), silentAt(3100)], [0, 3000]);
    for (let count = 0; count <= 400; count++) socket.receive(Buffer.alloc(0));
    assert.equal(socket.isPaused(), true);
    assert.equal(silentAt(3200), 0);
  });

  it('that publishes in very many small reads is paused until the next sweep', async () => {
    const { socket, connection, gate, faults, publish } = opened();
    await publish();
    const bytes = new ChunkWriter().write(video(20));
    const whole = Math.floor(400 / bytes.length);
    for (let count = 0; count < whole; count++) for (const byte of bytes) socket.receive(Buffer.of(byte));
    assert.equal(socket.isPaused(), false);
    for (let count = 0; count < 100; count++) socket.receive(Buffer.alloc(0));
    assert.equal(socket.isPaused(), true);
    connection.tick(ms(100));
    assert.equal(socket.isPaused(), false);
    assert.deepEqual([faults, gate.publication.ends], [[], []]);
  });

  it('that publishes fast in large reads waits for the next turn of the event loop and no longer', async () => {
    const { socket, send, publish } = opened();
    await publish();
    let waits = 0;
    for (let count = 0; count < 150; count++) {
      send(video(20_000));
      if (!socket.isPaused()) continue;
      waits += 1;
      await nextTurn();
      assert.equal(socket.isPaused(), false);
    }
    assert.ok(waits >= 35 && waits <= 50, `it waited ${waits} times for 3 MB`);
    for (let count = 0; count < 1500; count++) send(video(2000));
    assert.equal(socket.isPaused(), false, 'small reads show that nothing waits');
  });

  it('waits for the next turn after a few messages that take long, and handles messages that take little time at once', async () => {
    for (const [readMs, fewest, most] of [
      [0.01, 0, 0],
      [1, 5, 20],
      [100, 16, 20],
    ] as const) {
      const { socket, send, publish } = opened({ readMs });
      await publish();
      send(...Array.from({ length: 20 }, () => video(20)));
      let turns = 0;
      for (; socket.isPaused(); turns += 1) await nextTurn();
      assert.ok(turns >= fewest && turns <= most, `${turns} turns`);
    }
  });

  it('ends when its peer asks for more answers than it reads', async () => {
    const { socket, connection, faults, send, command, publish } = opened();
    await publish();
    socket.isTaken = false;
    for (let second = 1; second <= 5 && !socket.destroyed; second++) {
      for (let count = 0; count < 450 && !socket.destroyed; count++) send(command('FCPublish', 3, null, 'a'));
      connection.tick(ms(second * 1000));
    }
    assert.equal(socket.destroyed, true);
    await once(socket, 'close');
    assert.deepEqual(faults, [undefined], 'no fault is reported, because the connection had published');
  });
});
