/**
 * RTMP messages, and the ones the protocol itself needs (Adobe RTMP 1.0 §5.4, §6.2, §7.1).
 */
import { RtmpError } from './rtmp-error.ts';

/** Message type ids. */
export const MESSAGE = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowAcknowledgementSize: 5,
  setPeerBandwidth: 6,
  audio: 8,
  video: 9,
  dataAmf3: 15,
  commandAmf3: 17,
  data: 18,
  command: 20,
} as const;

/** Event types of a user control message (§6.2). */
export const USER_CONTROL = { streamBegin: 0, pingRequest: 6, pingResponse: 7 } as const;

/** One message, whole. */
export interface Message {
  /** One of {@link MESSAGE}, or unknown. */
  readonly type: number;
  /** The message stream: 0 for the connection, else what createStream gave. */
  readonly streamId: number;
  /** Milliseconds, 32 bits: wraps after 49.7 days. */
  readonly timestamp: number;
  readonly chunkStreamId: number;
  readonly payload: Buffer;
}

/** The chunk stream of everything the protocol says about itself (§5.4). */
const CONTROL_CHUNK_STREAM = 2;
/** The chunk stream of our commands, as every server uses it. */
const COMMAND_CHUNK_STREAM = 3;

/** A 32-bit number at the start of a payload. @throws {RtmpError} when the payload is shorter */
export function readUint32(message: Message): number {
  if (message.payload.length < 4) {
    throw new RtmpError(
      'message_invalid',
      `message of type ${message.type} has ${message.payload.length} bytes, needs 4`,
    );
  }
  return message.payload.readUInt32BE(0);
}

/** A user control event; undefined when it is too short to be one. */
export function readUserControl(message: Message): { event: number; value: number } | undefined {
  if (message.payload.length < 6) return undefined;
  return { event: message.payload.readUInt16BE(0), value: message.payload.readUInt32BE(2) };
}

/** A command message around an encoded command. */
export function commandMessage(payload: Buffer, streamId: number): Message {
  return { type: MESSAGE.command, streamId, timestamp: 0, chunkStreamId: COMMAND_CHUNK_STREAM, payload };
}

/** A message of the protocol itself, whose payload is one 32-bit number. */
export function controlMessage(
  type: (typeof MESSAGE)['setChunkSize' | 'acknowledgement' | 'windowAcknowledgementSize'],
  value: number,
): Message {
  return control(type, uint32(value));
}

/** Set Peer Bandwidth (§5.4.5) with limit type 2, dynamic. */
export function setPeerBandwidth(windowBytes: number): Message {
  return control(MESSAGE.setPeerBandwidth, Buffer.concat([uint32(windowBytes), Buffer.of(2)]));
}

/** A user control message (§6.2). */
export function userControl(event: number, value: number): Message {
  return control(MESSAGE.userControl, Buffer.concat([Buffer.of(0, event), uint32(value)]));
}

function control(type: number, payload: Buffer): Message {
  return { type, streamId: 0, timestamp: 0, chunkStreamId: CONTROL_CHUNK_STREAM, payload };
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
