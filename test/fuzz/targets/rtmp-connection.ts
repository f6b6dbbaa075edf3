/**
 * A whole RTMP connection, from the bytes of its socket to its publication, with a gate that accepts every publisher.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { PublishGate } from '#ingest/ingest.ts';
import { type RtmpSettings, rtmpSettings } from '#ingest/rtmp/config.ts';
import { Connection, type ConnectionOwner } from '#ingest/rtmp/connection.ts';
import { ms } from '#lib/units.ts';
import { HANDSHAKE_BYTES } from '#media/rtmp/handshake.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import { type Logger, silentLogger } from '#telemetry/logger.ts';
import { CheckedPublication } from '../checked-publication.ts';
import { ENHANCED_DICTIONARY } from '../enhanced-corpus.ts';
import { OBS_MESSAGES } from '../recorded.ts';
import { AMF_DICTIONARY } from '../rtmp-corpus.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** The handshake, which is sent before an input, unless the input says that it holds the handshake itself. */
const HANDSHAKE = Buffer.alloc(1 + 2 * HANDSHAKE_BYTES, 7).fill(3, 0, 1);
/** A bit of an input's first byte: the input holds the handshake itself. The other bits state how long slices are, in steps of 16 bytes. */
const WITHOUT_HANDSHAKE = 0x80;
const SLICE_STEP_BYTES = 16;
/** A connection that waits for the gate, or for its next turn, goes on after this many turns at most. */
const TURNS_OF_GATE = 32;

const settings = Object.fromEntries(
  Object.entries(rtmpSettings).map(([key, { fallback, parse }]) => [key, fallback && parse(fallback)]),
) as unknown as RtmpSettings;

/** Every publish ends exactly once, and so does the connection. Nothing is logged as a fault of the service. */
export const rtmpConnectionTarget: Target = {
  name: 'rtmp-connection',
  corpus: [
    Buffer.concat([Buffer.of(0), ...OBS_MESSAGES.slice(0, 10)]),
    Buffer.concat([Buffer.of(3), ...OBS_MESSAGES.slice(0, 7), ...OBS_MESSAGES.slice(8, 10), ...OBS_MESSAGES.slice(-3)]),
    Buffer.concat([Buffer.of(WITHOUT_HANDSHAKE), HANDSHAKE, ...OBS_MESSAGES.slice(0, 3)]),
  ],
  dictionary: [...AMF_DICTIONARY, ...ENHANCED_DICTIONARY],
  maxBytes: 4096,
  inputsInTests: 1000,
  open: () => ({ read: readConnection }),
};

async function readConnection(input: Buffer): Promise<number> {
  const faults: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => void faults.push(`${message}: ${stackOf(fields)}`),
    child: () => logger,
  };
  const publications: CheckedPublication[] = [];
  const gate: PublishGate = {
    publish: async () => {
      const publication = new CheckedPublication();
      publications.push(publication);
      return { accepted: true, publication };
    },
    addressInvalid: ({ text }) => must(text.reveal().length <= 1024, () => 'a long address'),
  };
  let closed = 0;
  const owner: ConnectionOwner = {
    onClosed: () => {
      closed += 1;
    },
    onAccepted: () => {},
    onUnpublished: () => {},
    onMediaBytes: (_connection, bytes) => must(bytes <= input.length, () => `${bytes} bytes of media`),
  };
  const socket = new TestSocket();
  const connection = new Connection(socket as unknown as Socket, {
    id: 1,
    owner,
    settings,
    gate,
    clock: { now: () => ms(0), monotonic: () => ms(0) },
    logger,
    lines: new CountedLines(logger),
    isShown: () => true,
    scheme: 'rtmp',
    remoteAddress: '192.0.2.1',
    openedAt: ms(0),
  });
  const mode = input[0] ?? 0;
  if ((mode & WITHOUT_HANDSHAKE) === 0) socket.emit('data', HANDSHAKE);
  const sliceBytes = (mode & ~WITHOUT_HANDSHAKE) * SLICE_STEP_BYTES || input.length;
  for (let at = 1; at < input.length && !socket.destroyed; at += sliceBytes) {
    await resumed(socket);
    socket.emit('data', input.subarray(at, at + sliceBytes));
  }
  await resumed(socket);
  connection.tick(ms(1000));
  connection.shutDown();
  socket.destroy();
  await nextTick();
  assert.deepEqual(faults, [], 'faults of the service were logged');
  assert.equal(closed, 1, 'the connection was not closed exactly once');
  for (const { ends } of publications) assert.equal(ends, 1, 'a publish did not end exactly once');
  return behaviour(publications.length, publications[0]?.behaviour ?? 0, magnitude(socket.written));
}

/** Waits until the socket is read again, if it is paused: first for the gate's answer, then for turns of the event loop. */
async function resumed(socket: Duplex): Promise<void> {
  for (let turn = 0; turn < TURNS_OF_GATE && socket.isPaused(); turn++) {
    await (turn < TURNS_OF_GATE / 2 ? nextTick() : nextTurn());
  }
}

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function stackOf(fields: object): string {
  const { err } = fields as { err?: unknown };
  return err instanceof Error ? (err.stack ?? err.message) : String(err);
}

/** A socket that accepts every byte that is written. The peer's bytes are given to it with `emit`. */
class TestSocket extends Duplex {
  written = 0;

  setNoDelay(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.length;
    done();
  }
}
