/**
 * The commands of RTMP (Adobe RTMP 1.0 §7.2): reading a publisher's, writing our answers.
 */
import { type AmfObject, type AmfValue, decodeAmf0, encodeAmf0 } from './amf0.ts';
import { MAX_AMF_BYTES, MAX_COMMAND_VALUES } from './config.ts';
import { FOUR_CCS } from './enhanced-tag.ts';
import { MESSAGE, type Message } from './message.ts';
import { RtmpError } from './rtmp-error.ts';

/** A command as sent: its arguments are unproven. */
export interface Command {
  readonly name: string;
  readonly transactionId: number;
  /** The command object of `connect`; empty where the command has none. */
  readonly object: AmfObject;
  readonly args: readonly AmfValue[];
}

/**
 * Status codes we send. librtmp (OBS) stops, and logs the description, at the `NetStream.Publish.*` and `Play.Failed`
 * ones; others it passes over.
 */
export type StatusCode =
  | 'NetConnection.Connect.AppShutdown'
  | 'NetStream.Play.Failed'
  | 'NetStream.Publish.BadName'
  | 'NetStream.Publish.Denied'
  | 'NetStream.Publish.Start'
  | 'NetStream.Unpublish.Success';

/**
 * Reads a command message, of AMF0 or of AMF3 kind (which starts with AMF0 values all the same).
 * @throws {RtmpError} when it is none
 */
export function readCommand(message: Message): Command {
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
 * The values of an AMF message.
 * @param amf3Type its type when it is of AMF3 kind: a zero byte stands before the first value
 * @param maxValues the most values the message may hold, nested ones included
 * @throws {RtmpError} when it is longer than any real one, or not AMF0
 */
export function readAmf({ type, payload }: Message, amf3Type: number, maxValues: number): AmfValue[] {
  if (payload.length > MAX_AMF_BYTES)
    throw new RtmpError('amf_invalid', `${payload.length} bytes of AMF in one message`);
  return decodeAmf0(type === amf3Type && payload[0] === 0 ? payload.subarray(1) : payload, maxValues);
}

// Flags of Enhanced RTMP: what can be done with a codec, and what a peer understands (`capsEx`).
const CAN_DECODE = 1;
const CAN_FORWARD = 4;
const UNDERSTANDS_MOD_EX = 4;
const UNDERSTANDS_NANOSECONDS = 8;

/** All video is transcoded, too; Opus is not passed on as it is, and AAC never made into anything else. */
const VIDEO_CODECS: AmfObject = new Map(FOUR_CCS.video.keys().map((fourCc) => [fourCc, CAN_DECODE | CAN_FORWARD]));
const AUDIO_CODECS: AmfObject = new Map([
  ['mp4a', CAN_FORWARD],
  ['Opus', CAN_DECODE],
]);

/** The answer to `connect`. Says what of Enhanced RTMP is understood: its codecs, but of several tracks only the first. */
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

/** The answer to a call that has nothing, or one value, to tell. */
export function callResult(transactionId: number, value?: AmfValue): Buffer {
  return encodeAmf0('_result', transactionId, null, value);
}

/** Tells how a stream fares. The description of an error is the sentence an encoder shows its user. */
export function onStatus(level: 'status' | 'error', code: StatusCode, description: string): Buffer {
  return status('onStatus', level, code, description);
}

/**
 * What Flash Media Server says after FCPublish, and appliances that were made for it wait for before they publish. Decides nothing: the
 * key is judged at `publish`.
 */
export function onFcPublish(): Buffer {
  return status('onFCPublish', 'status', 'NetStream.Publish.Start', 'Go on and publish.');
}

function status(name: string, level: string, code: StatusCode, description: string): Buffer {
  const information = new Map<string, AmfValue>([
    ['level', level],
    ['code', code],
    ['description', description],
  ]);
  return encodeAmf0(name, 0, null, information);
}
