/**
 * Splits messages into chunks (Adobe RTMP 1.0 §5.3), each with the shortest header that is possible.
 */
import { MESSAGE, type Message, readUint32 } from './message.ts';

/** The fields of the last header on a chunk stream. */
interface Header {
  readonly type: number;
  readonly length: number;
  readonly streamId: number;
  readonly timestamp: number;
  /** The value of the header's time field: a timestamp or a difference. */
  readonly time: number;
}

const EXTENDED = 0xffffff;

/** Writes the messages of one direction of a connection, in order. */
export class ChunkWriter {
  #chunkSize = 128;
  readonly #last = new Map<number, Header>();

  /** Encodes a message. A Set Chunk Size message sets the size for the messages after it. */
  write(message: Message): Buffer {
    const { payload, chunkStreamId } = message;
    const { format, time } = this.#choose(message);
    const first = header(format, message, time);
    const continued = header(3, message, time);
    const pieces: Buffer[] = [first, payload.subarray(0, this.#chunkSize)];
    for (let at = this.#chunkSize; at < payload.length; at += this.#chunkSize) {
      pieces.push(continued, payload.subarray(at, at + this.#chunkSize));
    }
    const { type, streamId, timestamp } = message;
    this.#last.set(chunkStreamId, { type, length: payload.length, streamId, timestamp, time });
    if (message.type === MESSAGE.setChunkSize) this.#chunkSize = readUint32(message);
    return Buffer.concat(pieces);
  }

  /** Chooses the header format and the value of its time field: a timestamp in format 0, otherwise the difference to the one before. */
  #choose(message: Message): { format: number; time: number } {
    const last = this.#last.get(message.chunkStreamId);
    const delta = last === undefined ? -1 : message.timestamp - last.timestamp;
    if (last === undefined || delta < 0 || message.streamId !== last.streamId) {
      return { format: 0, time: message.timestamp };
    }
    const isSameKind = message.type === last.type && message.payload.length === last.length;
    if (!isSameKind) return { format: 1, time: delta };
    return { format: delta === last.time ? 3 : 2, time: delta };
  }
}

function header(format: number, message: Message, time: number): Buffer {
  const { chunkStreamId: id, payload } = message;
  const bytes = Buffer.alloc(18);
  let at = 1;
  if (id < 64) {
    bytes[0] = (format << 6) | id;
  } else if (id < 320) {
    bytes[0] = format << 6;
    at = bytes.writeUInt8(id - 64, at);
  } else {
    bytes[0] = (format << 6) | 1;
    at = bytes.writeUInt16LE(id - 64, at);
  }
  if (format < 3) at = bytes.writeUIntBE(Math.min(time, EXTENDED), at, 3);
  if (format < 2) {
    at = bytes.writeUIntBE(payload.length, at, 3);
    at = bytes.writeUInt8(message.type, at);
  }
  if (format === 0) at = bytes.writeUInt32LE(message.streamId, at);
  if (time >= EXTENDED) at = bytes.writeUInt32BE(time, at);
  return bytes.subarray(0, at);
}
