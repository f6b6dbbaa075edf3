/**
 * The commands of RTMP (Adobe RTMP 1.0 §7.2): reads commands, and writes the answers of a server to a publisher.
 */
import { type AmfObject, type AmfValue, decodeAmf0, encodeAmf0 } from './amf0.ts';
import { FOUR_CCS } from './enhanced-tag.ts';
import { MESSAGE, type Message } from './message.ts';
import { RtmpError } from './rtmp-error.ts';

/** The longest AMF message that is decoded, in bytes. */
const MAX_AMF_BYTES = 64 * 1024;
/** The most AMF values in one command. `connect` with all lists of Enhanced RTMP has some forty. */
const MAX_COMMAND_VALUES = 256;

/** A command as it was sent. Its arguments have not been checked. */
export interface RtmpCommand {
  readonly name: string;
  readonly transactionId: number;
  /** The command object, which `connect` has. Empty for commands without one. */
  readonly object: AmfObject;
  readonly args: readonly AmfValue[];
}

/**
 * The status codes that the server sends. At `NetStream.Publish.Denied` and `NetStream.Play.Failed`, OBS's librtmp disconnects and logs the
 * description. It ignores the others, such as `NetStream.Publish.BadName`, and then never logs the reason of a refusal.
 */
export type StatusCode =
  | 'NetConnection.Connect.AppShutdown'
  | 'NetStream.Play.Failed'
  | 'NetStream.Publish.Denied'
  | 'NetStream.Publish.Start'
  | 'NetStream.Unpublish.Success';

/**
 * Reads a command message of the AMF0 or the AMF3 type, which both begin with AMF0 values.
 * @throws {RtmpError} when the message is not a command
 */
export function readCommand(message: Message): RtmpCommand {
  const [name, transactionId, object, ...args] = readAmf(message, MESSAGE.commandAmf3, MAX_COMMAND_VALUES);
  if (typeof name !== 'string') throw new RtmpError('command_invalid', 'a command has no name');
  return {
    name,
    transactionId: typeof transactionId === 'number' ? transactionId : 0,
    object: object instanceof Map ? object : new Map(),
    args,
  };
}

/**
 * Decodes the values of an AMF message.
 * @param amf3Type the message type whose payload has a zero byte before the first value
 * @param maxValues the most values the message may contain, nested ones included
 * @throws {RtmpError} when the message is too long, or is not AMF0
 */
export function readAmf({ type, payload }: Message, amf3Type: number, maxValues: number): AmfValue[] {
  if (payload.length > MAX_AMF_BYTES)
    throw new RtmpError('amf_invalid', `${payload.length} bytes of AMF in one message`);
  return decodeAmf0(type === amf3Type && payload[0] === 0 ? payload.subarray(1) : payload, maxValues);
}

// Flags of Enhanced RTMP: what a peer can do with a codec, and which extensions it understands (`capsEx`).
const CAN_DECODE = 1;
const CAN_FORWARD = 4;
const UNDERSTANDS_MOD_EX = 4;
const UNDERSTANDS_NANOSECONDS = 8;

/** Video is passed on and transcoded. AAC is only passed on, and Opus is only transcoded. */
const VIDEO_CODECS: AmfObject = new Map(FOUR_CCS.video.keys().map((fourCc) => [fourCc, CAN_DECODE | CAN_FORWARD]));
const AUDIO_CODECS: AmfObject = new Map([
  ['mp4a', CAN_FORWARD],
  ['Opus', CAN_DECODE],
]);

/** The answer to `connect`. Declares support for the codecs of Enhanced RTMP, but not for several tracks. */
export function connectResult(transactionId: number): Buffer {
  const properties = new Map<string, AmfValue>([
    ['fmsVer', 'FMS/3,0,1,123'],
    ['capabilities', 31],
    ['fourCcList', [...VIDEO_CODECS.keys(), ...AUDIO_CODECS.keys()]],
    ['videoFourCcInfoMap', VIDEO_CODECS],
    ['audioFourCcInfoMap', AUDIO_CODECS],
    ['capsEx', UNDERSTANDS_MOD_EX | UNDERSTANDS_NANOSECONDS],
  ]);
  const information = new Map<string, AmfValue>([
    ['level', 'status'],
    ['code', 'NetConnection.Connect.Success'],
    ['description', 'Connected.'],
    ['objectEncoding', 0],
  ]);
  return encodeAmf0('_result', transactionId, properties, information);
}

/** The answer to a call that returns one value or none. */
export function callResult(transactionId: number, value?: AmfValue): Buffer {
  return encodeAmf0('_result', transactionId, null, value);
}

/** Reports the status of a stream. The description of an error is the sentence that an encoder shows to its user. */
export function onStatus(level: 'status' | 'error', code: StatusCode, description: string): Buffer {
  return status('onStatus', level, code, description);
}

/**
 * The message that Flash Media Server sends after FCPublish. Appliances that were made for it do not publish before they have received
 * it. It grants nothing: the stream key is checked at `publish`.
 */
export function onFcPublish(): Buffer {
  return status('onFCPublish', 'status', 'NetStream.Publish.Start', 'Ready to publish.');
}

function status(name: string, level: string, code: StatusCode, description: string): Buffer {
  const information = new Map<string, AmfValue>([
    ['level', level],
    ['code', code],
    ['description', description],
  ]);
  return encodeAmf0(name, 0, null, information);
}
