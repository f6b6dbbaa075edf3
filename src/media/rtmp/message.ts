/**
 * RTMP messages, and the control messages of the protocol (Adobe RTMP 1.0 §5.4, §6.2, §7.1).
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

/** A complete message. */
export interface Message {
  /** One of {@link MESSAGE}, or another number for an unknown type. */
  readonly type: number;
  /** The message stream: 0 for the connection, otherwise the id that createStream returned. */
  readonly streamId: number;
  /** Milliseconds as 32 bits, which wrap after 49.7 days. */
  readonly timestamp: number;
  readonly chunkStreamId: number;
  readonly payload: Buffer;
}

/** The chunk stream of control messages (§5.4). */
const CONTROL_CHUNK_STREAM = 2;
/** The chunk stream of commands, which every implementation uses. */
const COMMAND_CHUNK_STREAM = 3;

/** Reads the 32-bit number at the start of a payload. @throws {RtmpError} when the payload is shorter */
export function readUint32(message: Message): number {
  if (message.payload.length < 4) {
    throw new RtmpError(
      'message_invalid',
      `message of type ${message.type} has ${message.payload.length} bytes, needs 4`,
    );
  }
  return message.payload.readUInt32BE(0);
}

/** Reads a user control event. Undefined when the payload is too short. */
export function readUserControl(message: Message): { event: number; value: number } | undefined {
  if (message.payload.length < 6) return undefined;
  return { event: message.payload.readUInt16BE(0), value: message.payload.readUInt32BE(2) };
}

/** Makes a message of an encoded command. */
export function commandMessage(payload: Buffer, streamId: number): Message {
  return { type: MESSAGE.command, streamId, timestamp: 0, chunkStreamId: COMMAND_CHUNK_STREAM, payload };
}

/** Makes a control message whose payload is one 32-bit number. */
export function controlMessage(
  type: (typeof MESSAGE)['setChunkSize' | 'acknowledgement' | 'windowAcknowledgementSize'],
  value: number,
): Message {
  return control(type, uint32(value));
}

/** Makes a Set Peer Bandwidth message (§5.4.5) with limit type 2, dynamic. */
export function setPeerBandwidth(windowBytes: number): Message {
  return control(MESSAGE.setPeerBandwidth, Buffer.concat([uint32(windowBytes), Buffer.of(2)]));
}

/** Makes a user control message (§6.2). */
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
