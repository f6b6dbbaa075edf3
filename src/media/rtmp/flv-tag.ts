/**
 * Reads the bodies of audio and video messages: FLV tags (Adobe FLV 10.1, annex E.4) that contain AVC and AAC. `enhanced-tag.ts` reads the
 * extended form.
 *
 * Nothing here throws. The result says whether a body is media, truncated, to be ignored, or of an unsupported codec.
 */
import type { TrackKind } from '#media/track.ts';
import { isEnhanced, readEnhancedTag } from './enhanced-tag.ts';
import { compositionTime, IGNORED, MALFORMED, type MediaTag, UNSUPPORTED } from './media-tag.ts';

const CODEC_AVC = 7;
const SOUND_AAC = 10;
/** The frame type of commands, which are not frames. */
const FRAME_COMMAND = 5;
const PACKET_CONFIG = 0;
const PACKET_FRAME = 1;
const AVC_HEADER_BYTES = 5;
const AAC_HEADER_BYTES = 2;

/** Reads the body of a media message. */
export function readFlvTag(kind: TrackKind, body: Buffer): MediaTag {
  if (body.length === 0) return IGNORED;
  if (isEnhanced(kind, body)) return readEnhancedTag(kind, body);
  return kind === 'video' ? readVideo(body) : readAudio(body);
}

function readVideo(body: Buffer): MediaTag {
  const first = body[0]!;
  if (first >> 4 === FRAME_COMMAND) return IGNORED;
  if ((first & 0x0f) !== CODEC_AVC) return UNSUPPORTED;
  if (body.length < AVC_HEADER_BYTES) return MALFORMED;
  return readPacket('h264', body, AVC_HEADER_BYTES, compositionTime(body, 2));
}

function readAudio(body: Buffer): MediaTag {
  if (body[0]! >> 4 !== SOUND_AAC) return UNSUPPORTED;
  if (body.length < AAC_HEADER_BYTES) return MALFORMED;
  return readPacket('aac', body, AAC_HEADER_BYTES, 0);
}

/** Reads a body whose second byte is its packet type. AVC has a third type, the end of a sequence, which contains no media. */
function readPacket(codec: 'h264' | 'aac', body: Buffer, headerBytes: number, compositionMs: number): MediaTag {
  const data = body.subarray(headerBytes);
  if (data.length === 0) return IGNORED;
  if (body[1] === PACKET_CONFIG) return { type: 'config', codec, data };
  if (body[1] === PACKET_FRAME) return { type: 'frame', codec, offsetMs: 0, compositionMs, data };
  return IGNORED;
}
