/**
 * The bodies of audio and video messages: FLV tags (Adobe FLV 10.1, annex E.4), with AVC and AAC inside.
 *
 * Nothing here throws: a body is either media, or something to pass over, or a codec we do not take.
 */
import type { TrackKind } from '#media/track.ts';

/** What a body holds. Data are views of the body. */
export type FlvTag =
  | { readonly type: 'config'; readonly data: Buffer }
  | {
      readonly type: 'frame';
      /** Presentation time minus decoding time, in milliseconds; 0 for audio. Negative only by an encoder's mistake. */
      readonly compositionMs: number;
      readonly data: Buffer;
    }
  /** Nothing to play: end of sequence, seek commands, empty bodies, extra tracks we have not asked for. */
  | { readonly type: 'ignored' }
  /** Cut off before its codec's fields end. */
  | { readonly type: 'malformed' }
  | { readonly type: 'unsupported' };

const IGNORED: FlvTag = { type: 'ignored' };
const MALFORMED: FlvTag = { type: 'malformed' };
const UNSUPPORTED: FlvTag = { type: 'unsupported' };

const CODEC_AVC = 7;
const SOUND_AAC = 10;
/** Enhanced RTMP: the sound format that says a FourCC follows. */
const SOUND_EXTENDED = 9;
/** A frame type that is no frame. */
const FRAME_COMMAND = 5;
const PACKET_CONFIG = 0;
const PACKET_FRAME = 1;
const AVC_HEADER_BYTES = 5;
const AAC_HEADER_BYTES = 2;
/** Enhanced RTMP v2 packet types that carry tracks beside the main one. */
const EXTENDED_VIDEO_MULTITRACK = 6;
const EXTENDED_AUDIO_MULTITRACK = 5;

/** Reads the body of a media message. */
export function readFlvTag(kind: TrackKind, body: Buffer): FlvTag {
  if (body.length === 0) return IGNORED;
  return kind === 'video' ? readVideo(body) : readAudio(body);
}

function readVideo(body: Buffer): FlvTag {
  const first = body[0]!;
  if ((first & 0x80) !== 0) return (first & 0x0f) === EXTENDED_VIDEO_MULTITRACK ? IGNORED : UNSUPPORTED;
  if (first >> 4 === FRAME_COMMAND) return IGNORED;
  if ((first & 0x0f) !== CODEC_AVC) return UNSUPPORTED;
  if (body.length < AVC_HEADER_BYTES) return MALFORMED;
  // Signed, 24 bits.
  const compositionMs = (body.readUIntBE(2, 3) << 8) >> 8;
  return readPacket(body, AVC_HEADER_BYTES, compositionMs);
}

function readAudio(body: Buffer): FlvTag {
  const format = body[0]! >> 4;
  if (format === SOUND_EXTENDED) return (body[0]! & 0x0f) === EXTENDED_AUDIO_MULTITRACK ? IGNORED : UNSUPPORTED;
  if (format !== SOUND_AAC) return UNSUPPORTED;
  if (body.length < AAC_HEADER_BYTES) return MALFORMED;
  return readPacket(body, AAC_HEADER_BYTES, 0);
}

/** The second byte says what the rest is; AVC's third kind, end of sequence, has none. */
function readPacket(body: Buffer, headerBytes: number, compositionMs: number): FlvTag {
  const data = body.subarray(headerBytes);
  if (data.length === 0) return IGNORED;
  if (body[1] === PACKET_CONFIG) return { type: 'config', data };
  if (body[1] === PACKET_FRAME) return { type: 'frame', compositionMs, data };
  return IGNORED;
}
