/**
 * Attacks over RTMP by somebody without a stream key.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type AmfValue, encodeAmf0 } from '#media/rtmp/amf0.ts';
import { ChunkWriter } from '#media/rtmp/chunk-writer.ts';
import { HANDSHAKE_BYTES } from '#media/rtmp/handshake.ts';
import { commandMessage, controlMessage, MESSAGE, type Message, userControl } from '#media/rtmp/message.ts';
import type { Attack } from './attack.ts';
import { inTurn } from './attack.ts';
import { type Burst, type Connects, connects, flood } from './flood.ts';

/** How many connections an attack has. An address may have 150. */
const CONNECTIONS = 40;
/** The size of a burst: many messages at once, as a fast line delivers them. */
const BURST_BYTES = 16_000;
/** The chunk stream that encoders use. */
const CHUNK_STREAM = 3;
const PING_REQUEST = 6;

/** The attacks, by their names in the table of results. */
export const RTMP_ATTACKS: Readonly<Record<string, Attack>> = {
  'Set Chunk Size messages': messages(controlMessage(MESSAGE.setChunkSize, 128)),
  'Abort messages': messages(message(MESSAGE.abort, Buffer.of(0, 0, 0, 5))),
  acknowledgements: messages(message(MESSAGE.acknowledgement, Buffer.alloc(4))),
  'window acknowledgement sizes': messages(controlMessage(MESSAGE.windowAcknowledgementSize, 1)),
  'peer bandwidths': messages(message(MESSAGE.setPeerBandwidth, Buffer.of(0, 0, 0, 1, 2))),
  'ping requests': messages(userControl(PING_REQUEST, 1)),
  'user control events too short to be one': messages(message(MESSAGE.userControl, Buffer.of(0))),
  'messages of unknown types': messages(message(99, Buffer.of(0))),
  'empty audio and video': messages(message(MESSAGE.audio, Buffer.alloc(0)), message(MESSAGE.video, Buffer.alloc(0))),
  'audio and video before publishing': messages(
    message(MESSAGE.audio, randomBytes(16)),
    message(MESSAGE.video, randomBytes(1000)),
  ),
  'data messages': messages(message(MESSAGE.data, encodeAmf0('@setDataFrame', 'onMetaData', wide(20)))),
  'createStream commands': messages(command('createStream', 1, null)),
  'connect commands': messages(command('connect', 1, new Map([['app', 'live']]))),
  'commands with deep objects': messages(message(MESSAGE.command, deepObject(8000))),
  'commands with large objects': messages(command('connect', 1, wide(2000))),
  'commands in AMF3': messages(message(MESSAGE.commandAmf3, Buffer.concat([Buffer.of(0), randomBytes(100)]))),
  'commands that are not AMF': messages(message(MESSAGE.command, randomBytes(200))),
  'messages begun and not finished': floodOf(() => inTurn(unfinished())),
  'publishes with wrong stream keys': connecting({ perS: 500, lingerMs: 2000, use: publishWrongKey }),
  'handshakes only': connecting({ perS: 1000, lingerMs: 1000, use: shakeHands }),
  'bytes that are not RTMP': connecting({
    perS: 1000,
    lingerMs: 1000,
    use: async (socket) => void socket.write(randomBytes(16_000)),
  }),
  'RTMP connections that say nothing': connecting({ perS: 1000, lingerMs: 3000 }),
};

/** An attack that sends messages of these kinds in turn, again and again, after the handshake and `connect`. */
function messages(...kinds: readonly Message[]): Attack {
  return floodOf(() => {
    const burst = burstOf(kinds);
    return () => burst;
  });
}

function floodOf(nextFor: () => () => Burst): Attack {
  return async (run) => {
    const next = nextFor();
    // RTMP has no requests, so its messages are limited only by the bytes a second.
    const requestsPerS = Number.POSITIVE_INFINITY;
    await flood(
      { port: run.target.rtmpPort, connections: CONNECTIONS, requestsPerS, greet: shakeHandsAndConnect, next },
      run,
    );
  };
}

function connecting(how: Omit<Connects, 'port'>): Attack {
  return (run) => connects({ ...how, port: run.target.rtmpPort }, run);
}

/** As many messages as make a burst, each chunk with the shortest header it can have. */
function burstOf(kinds: readonly Message[]): Burst {
  const next = inTurn(kinds);
  const writer = new ChunkWriter();
  const pieces: Buffer[] = [];
  for (let bytes = 0; bytes < BURST_BYTES; bytes += pieces.at(-1)!.length) pieces.push(writer.write(next()));
  return { bytes: Buffer.concat(pieces), requests: pieces.length };
}

/** The first chunk of a large message on each of many chunk streams. */
function unfinished(): readonly Burst[] {
  return Array.from({ length: 60 }, (_, index) => {
    const whole: Message = { ...message(MESSAGE.video, Buffer.alloc(60_000)), chunkStreamId: 4 + index };
    return { bytes: new ChunkWriter().write(whole).subarray(0, 140), requests: 1 };
  });
}

function message(type: number, payload: Buffer): Message {
  return { type, streamId: 0, timestamp: 0, chunkStreamId: CHUNK_STREAM, payload };
}

function command(name: string, transaction: number, ...values: readonly AmfValue[]): Message {
  return commandMessage(encodeAmf0(name, transaction, ...values), 0);
}

/** A `connect` whose object holds an object that holds an object, and so on, deeper than our AMF0 encoder would write it. */
function deepObject(depth: number): Buffer {
  const opened = Buffer.from('03000161', 'hex'); // an object, and its member "a"
  const closed = Buffer.from('000009', 'hex');
  const repeat = (bytes: Buffer) => Array.from({ length: depth }, () => bytes);
  return Buffer.concat([encodeAmf0('connect', 1), ...repeat(opened), encodeAmf0(null), ...repeat(closed)]);
}

function wide(members: number): AmfValue {
  return new Map(Array.from({ length: members }, (_, index) => [`member-${index}`, index]));
}

/** Sends what an encoder sends before its commands. */
async function shakeHands(socket: Socket): Promise<void> {
  let received = Buffer.alloc(0);
  socket.write(Buffer.concat([Buffer.of(3), Buffer.alloc(HANDSHAKE_BYTES)]));
  while (received.length < 1 + 2 * HANDSHAKE_BYTES) {
    // This rejects when the server closes with an error. When it closes without one, the promise is dropped with the socket.
    const [slice] = (await once(socket, 'data')) as [Buffer];
    received = Buffer.concat([received, slice]);
  }
  socket.write(received.subarray(1, 1 + HANDSHAKE_BYTES));
}

async function shakeHandsAndConnect(socket: Socket): Promise<void> {
  await shakeHands(socket);
  socket.write(new ChunkWriter().write(command('connect', 1, new Map([['app', 'live']]))));
}

async function publishWrongKey(socket: Socket): Promise<void> {
  await shakeHandsAndConnect(socket);
  socket.write(new ChunkWriter().write(command('createStream', 2, null)));
  const publish = encodeAmf0('publish', 3, null, randomBytes(12).toString('hex'), 'live');
  socket.write(new ChunkWriter().write(commandMessage(publish, 1)));
}
