/**
 * Encodes the messages between the server and a transcoder's worker as bytes, the payloads of the frames of `framing.ts`.
 *
 * Both sides are started from the same files, so their versions can differ only when files were replaced under a running server. The worker
 * is then refused and ended. An invalid message ends the connection on either side. The server does not trust a worker, because its bytes
 * come from a program that decodes the input of strangers.
 *
 * Packets are binary, and rare messages are JSON. Times are signed 64-bit integers.
 */
import { ticks } from '#lib/units.ts';
import { FramingError, frameHeader, type StreamFrame } from './framing.ts';
import type {
  AudioPacket,
  AudioSourceDescription,
  FromWorker,
  Job,
  SourceDescription,
  ToWorker,
} from './worker-messages.ts';

/** Increased by every change of messages or bytes that an older side would misread. */
export const PROTOCOL_VERSION = 9;

const TO_WORKER = { job: 1, source: 2, packet: 3, active: 4, flush: 5, audioSource: 6, audio: 7, held: 8 } as const;
const FROM_WORKER = {
  ready: 129,
  config: 130,
  packet: 131,
  poster: 132,
  done: 133,
  health: 134,
  begun: 135,
  audioConfig: 136,
  audio: 137,
  outOfMemory: 138,
  missing: 139,
  tile: 140,
  preparing: 141,
  failed: 142,
  audioMissing: 143,
} as const;

/** The largest number of bytes of each type of message from a worker. Video packets are limited only by the framing. */
const MOST_FROM_WORKER: ReadonlyMap<number, number> = new Map([
  [FROM_WORKER.ready, 1024],
  [FROM_WORKER.begun, 0],
  [FROM_WORKER.outOfMemory, 0],
  [FROM_WORKER.missing, 0],
  [FROM_WORKER.audioMissing, 0],
  [FROM_WORKER.preparing, 0],
  [FROM_WORKER.failed, 1],
  [FROM_WORKER.done, 4],
  [FROM_WORKER.health, 1024],
  [FROM_WORKER.config, 16_384],
  [FROM_WORKER.audioConfig, 1024],
  [FROM_WORKER.audio, 65_536],
  [FROM_WORKER.poster, 1024 * 1024],
  [FROM_WORKER.tile, 65_536],
]);

const KEYFRAME = 1;
const MARKED = 2;
const DISCONTINUITY = 4;
const AFTER_GAP = 8;

const TIME_BYTES = 8;
/** flags, pts, dts */
const PACKET_HEADER_BYTES = 17;
/** rendition, then a packet header */
const RENDITION_HEADER_BYTES = 1 + PACKET_HEADER_BYTES;

/** A mark as the worker knows it, without numbers. */
const UNNUMBERED_MARK = { ordinal: 0, independent: true, discontinuity: false, discontinuitiesBefore: 0 } as const;

const KNOWN_FLAGS = KEYFRAME | MARKED | DISCONTINUITY | AFTER_GAP;

/** Encodes a message as pieces to be written one after another. Media is not copied. */
export function encodeToWorker(message: ToWorker): readonly Uint8Array[] {
  switch (message.type) {
    case 'job':
      return frame(TO_WORKER.job, json(message.job));
    case 'source': {
      const { config, ...description } = message.source;
      return frame(TO_WORKER.source, ...jsonAndBytes(description, config));
    }
    case 'packet': {
      const { packet, afterGap } = message;
      const flags =
        (packet.keyframe ? KEYFRAME : 0) |
        (packet.mark === undefined ? 0 : MARKED) |
        (packet.mark?.discontinuity ? DISCONTINUITY : 0) |
        (afterGap ? AFTER_GAP : 0);
      return frame(TO_WORKER.packet, packetHeader(flags, packet), packet.data);
    }
    case 'held': {
      const { pts, mark } = message;
      return frame(TO_WORKER.held, packetHeader(mark === undefined ? 0 : MARKED, { pts, dts: pts }));
    }
    case 'audio_source': {
      const { config, ...description } = message.source;
      return frame(TO_WORKER.audioSource, ...jsonAndBytes(description, config));
    }
    case 'audio':
      return frame(TO_WORKER.audio, timeOf(message.packet), message.packet.data);
    case 'active':
      return frame(TO_WORKER.active, Buffer.from(message.renditions));
    case 'flush':
      return frame(TO_WORKER.flush);
  }
}

/** Encodes a message as pieces to be written one after another. Media is not copied. */
export function encodeFromWorker(message: FromWorker): readonly Uint8Array[] {
  switch (message.type) {
    case 'ready':
      return frame(FROM_WORKER.ready, json({ version: message.version }));
    case 'begun':
      return frame(FROM_WORKER.begun);
    case 'config':
      return frame(FROM_WORKER.config, Buffer.of(message.rendition), message.config);
    case 'packet': {
      const { packet } = message;
      const flags = (packet.keyframe ? KEYFRAME : 0) | (packet.marked ? MARKED : 0);
      return frame(FROM_WORKER.packet, Buffer.of(packet.rendition), packetHeader(flags, packet), packet.data);
    }
    case 'audio_config':
      return frame(FROM_WORKER.audioConfig, message.config);
    case 'audio':
      return frame(FROM_WORKER.audio, timeOf(message.packet), message.packet.data);
    case 'picture':
      return frame(FROM_WORKER[message.kind], timeOf(message), message.jpeg);
    case 'done': {
      const count = Buffer.allocUnsafe(4);
      count.writeUInt32BE(message.count);
      return frame(FROM_WORKER.done, count);
    }
    case 'health':
      return frame(FROM_WORKER.health, json(message.health));
    case 'out_of_memory':
      return frame(FROM_WORKER.outOfMemory);
    case 'missing':
      return frame(FROM_WORKER.missing);
    case 'audio_missing':
      return frame(FROM_WORKER.audioMissing);
    case 'preparing':
      return frame(FROM_WORKER.preparing);
    case 'failed':
      return frame(FROM_WORKER.failed, Buffer.of(message.rendition));
  }
}

/**
 * Decodes a message of the server.
 * @throws {FramingError} when the message is unknown or malformed
 */
export function decodeToWorker({ type, payload }: StreamFrame): ToWorker {
  switch (type) {
    case TO_WORKER.job:
      return { type: 'job', job: parseJson(payload) as unknown as Job };
    case TO_WORKER.source: {
      const { value, bytes } = splitJson(payload);
      return { type: 'source', source: { ...value, config: bytes } as unknown as SourceDescription };
    }
    case TO_WORKER.packet: {
      const { flags, pts, dts, data } = readPacket(payload);
      const mark = { ...UNNUMBERED_MARK, discontinuity: (flags & DISCONTINUITY) !== 0 };
      const packet = {
        kind: 'video',
        pts: ticks(pts),
        dts: ticks(dts),
        keyframe: (flags & KEYFRAME) !== 0,
        data,
      } as const;
      return {
        type: 'packet',
        packet: flags & MARKED ? { ...packet, mark } : packet,
        afterGap: (flags & AFTER_GAP) !== 0,
      };
    }
    case TO_WORKER.held: {
      const { flags, pts } = readPacket(payload);
      const held = { type: 'held', pts: ticks(pts) } as const;
      return flags & MARKED ? { ...held, mark: UNNUMBERED_MARK } : held;
    }
    case TO_WORKER.audioSource: {
      const { value, bytes } = splitJson(payload);
      return { type: 'audio_source', source: { ...value, config: bytes } as unknown as AudioSourceDescription };
    }
    case TO_WORKER.audio:
      return { type: 'audio', packet: readTimed(payload) };
    case TO_WORKER.active:
      return { type: 'active', renditions: [...payload] };
    case TO_WORKER.flush:
      return { type: 'flush' };
    default:
      throw new FramingError(`A message from the server has the unknown type ${type}.`);
  }
}

/**
 * Decodes a message of a worker, and checks every number in it.
 * @throws {FramingError} when the message is unknown, malformed, or longer than its type allows
 */
export function decodeFromWorker({ type, payload }: StreamFrame): FromWorker {
  const most = MOST_FROM_WORKER.get(type) ?? payload.length;
  if (payload.length > most) {
    throw new FramingError(`A message of type ${type} has ${payload.length} bytes; at most ${most} are allowed.`);
  }
  switch (type) {
    case FROM_WORKER.ready:
      return { type: 'ready', version: number(parseJson(payload), 'version') };
    case FROM_WORKER.begun:
      return { type: 'begun' };
    case FROM_WORKER.config:
      need(payload, 1);
      return { type: 'config', rendition: payload[0]!, config: payload.subarray(1) };
    case FROM_WORKER.packet: {
      need(payload, RENDITION_HEADER_BYTES);
      const { flags, pts, dts, data } = readPacket(payload.subarray(1));
      const packet = { pts, dts, keyframe: (flags & KEYFRAME) !== 0, marked: (flags & MARKED) !== 0, data };
      return { type: 'packet', packet: { rendition: payload[0]!, ...packet } };
    }
    case FROM_WORKER.audioConfig:
      return { type: 'audio_config', config: payload };
    case FROM_WORKER.audio:
      return { type: 'audio', packet: readTimed(payload) };
    case FROM_WORKER.poster:
    case FROM_WORKER.tile: {
      const { pts, data: jpeg } = readTimed(payload);
      return { type: 'picture', kind: type === FROM_WORKER.poster ? 'poster' : 'tile', pts, jpeg };
    }
    case FROM_WORKER.done:
      need(payload, 4);
      return { type: 'done', count: payload.readUInt32BE(0) };
    case FROM_WORKER.outOfMemory:
      return { type: 'out_of_memory' };
    case FROM_WORKER.missing:
      return { type: 'missing' };
    case FROM_WORKER.audioMissing:
      return { type: 'audio_missing' };
    case FROM_WORKER.preparing:
      return { type: 'preparing' };
    case FROM_WORKER.failed:
      need(payload, 1);
      return { type: 'failed', rendition: payload[0]! };
    case FROM_WORKER.health: {
      const value = parseJson(payload);
      const [rssBytes, cpuMs] = [number(value, 'rssBytes'), number(value, 'cpuMs')];
      const [decodeErrors, encodeErrors] = [number(value, 'decodeErrors'), number(value, 'encodeErrors')];
      const [blackS, frozenS] = [number(value, 'blackS'), number(value, 'frozenS')];
      return { type: 'health', health: { rssBytes, cpuMs, decodeErrors, encodeErrors, blackS, frozenS } };
    }
    default:
      throw new FramingError(`A message from a worker has the unknown type ${type}.`);
  }
}

function frame(type: number, ...payload: readonly Uint8Array[]): readonly Uint8Array[] {
  const bytes = payload.reduce((sum, piece) => sum + piece.length, 0);
  const [first, ...rest] = payload;
  // The small first piece is joined with the header, and pieces of media are not copied.
  const header = frameHeader(type, bytes);
  return first === undefined ? [header] : [Buffer.concat([header, first]), ...rest];
}

function packetHeader(flags: number, { pts, dts }: { readonly pts: number; readonly dts: number }): Buffer {
  const header = Buffer.allocUnsafe(PACKET_HEADER_BYTES);
  header[0] = flags;
  header.writeBigInt64BE(BigInt(pts), 1);
  header.writeBigInt64BE(BigInt(dts), 9);
  return header;
}

function readPacket(payload: Buffer): { flags: number; pts: number; dts: number; data: Uint8Array } {
  need(payload, PACKET_HEADER_BYTES);
  const flags = payload[0]!;
  if ((flags & ~KNOWN_FLAGS) !== 0) throw new FramingError(`A packet has unknown flags: ${flags}.`);
  const [pts, dts] = [readTime(payload, 1), readTime(payload, 9)];
  return { flags, pts, dts, data: payload.subarray(PACKET_HEADER_BYTES) };
}

function timeOf({ pts }: { readonly pts: number }): Buffer {
  const time = Buffer.allocUnsafe(TIME_BYTES);
  time.writeBigInt64BE(BigInt(pts));
  return time;
}

/** Reads bytes after their time. */
function readTimed(payload: Buffer): AudioPacket {
  need(payload, TIME_BYTES);
  return { pts: readTime(payload, 0), data: payload.subarray(TIME_BYTES) };
}

function readTime(payload: Buffer, at: number): number {
  const time = Number(payload.readBigInt64BE(at));
  if (!Number.isSafeInteger(time)) throw new FramingError('A packet has an invalid time.');
  return time;
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

function parseJson(payload: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString());
  } catch (cause) {
    throw new FramingError(`A message is not JSON: ${(cause as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FramingError('A message is not a JSON object.');
  }
  return value as Record<string, unknown>;
}

/** JSON with its length in 32 bits before it, then bytes. */
function jsonAndBytes(value: object, bytes: Uint8Array): readonly Uint8Array[] {
  const text = json(value);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(text.length);
  return [Buffer.concat([length, text]), bytes];
}

function splitJson(payload: Buffer): { value: Readonly<Record<string, unknown>>; bytes: Uint8Array } {
  need(payload, 4);
  const end = 4 + payload.readUInt32BE(0);
  need(payload, end);
  return { value: parseJson(payload.subarray(4, end)), bytes: payload.subarray(end) };
}

function need(payload: Buffer, bytes: number): void {
  if (payload.length < bytes)
    throw new FramingError(`A message of ${payload.length} bytes should have ${bytes} at least.`);
}

function number(value: Readonly<Record<string, unknown>>, name: string): number {
  const found = value[name];
  if (typeof found !== 'number' || !Number.isFinite(found)) throw new FramingError(`A message has no number ${name}.`);
  return found;
}
