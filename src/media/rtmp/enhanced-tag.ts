/**
 * The extended bodies of audio and video messages: codecs by their FourCC (Enhanced RTMP v2, "Enhanced Audio" and "Enhanced Video").
 *
 * Nothing here throws. The result says whether a body is media, truncated, to be ignored, or of an unsupported codec.
 */
import type { AudioCodec, TrackKind, VideoCodec } from '#media/track.ts';
import { COMPOSITION_BYTES, compositionTime, IGNORED, MALFORMED, type MediaTag, UNSUPPORTED } from './media-tag.ts';

/** The codecs that publishers may use, by FourCC. */
export const FOUR_CCS: Record<TrackKind, ReadonlyMap<string, VideoCodec | AudioCodec>> = {
  video: new Map([
    ['avc1', 'h264'],
    ['hvc1', 'h265'],
    ['av01', 'av1'],
  ]),
  audio: new Map([
    ['mp4a', 'aac'],
    ['Opus', 'opus'],
  ]),
};

const FOUR_CC_BYTES = 4;
/** The audio format after which a FourCC follows. */
const SOUND_EXTENDED = 9;
/** The frame type of commands, which are not frames. */
const FRAME_COMMAND = 5;

/** The packet types of a body. Audio and video have different numbers for some. */
const SEQUENCE_START = 0;
const CODED_FRAMES = 1;
/** Video frames without a composition time. */
const CODED_FRAMES_X = 3;
/** Video only: a configuration in an MPEG-2 TS descriptor, which no encoder sends. */
const MPEG2_TS_SEQUENCE_START = 5;
const VIDEO_METADATA = 4;
const MULTITRACK: Record<TrackKind, number> = { video: 6, audio: 5 };
/** An extension that precedes the packet type. */
const MOD_EX = 7;
const MOD_EX_TIMESTAMP_OFFSET_NANO = 0;
/** The longest offset from the timestamp of a message, in nanoseconds. */
const MAX_OFFSET_NANO = 999_999;

/** The most extensions of one body, more than any encoder writes. A body of megabytes could hold millions of empty ones. */
const MAX_EXTENSIONS = 8;
/** The most tracks of one body that are read: a track id is one byte. Tracks may be empty, so a body could hold millions. */
const MAX_TRACKS = 256;

/** The arrangements of a body with several tracks. */
const ONE_TRACK = 0;
const MANY_TRACKS_MANY_CODECS = 2;
/** The id of the only track that is read. */
const MAIN_TRACK = 0;

/** Whether a body that is not empty has the extended form. */
export function isEnhanced(kind: TrackKind, body: Buffer): boolean {
  return kind === 'video' ? (body[0]! & 0x80) !== 0 : body[0]! >> 4 === SOUND_EXTENDED;
}

/** Reads an extended body. Of several tracks, the one with id 0 is read. */
export function readEnhancedTag(kind: TrackKind, body: Buffer): MediaTag {
  try {
    return read(kind, new TagReader(body));
  } catch (error) {
    if (error instanceof TruncatedBody) return MALFORMED;
    throw error;
  }
}

function read(kind: TrackKind, reader: TagReader): MediaTag {
  const first = reader.byte();
  let packetType = first & 0x0f;
  let offsetNano = 0;
  for (let count = 1; packetType === MOD_EX; count++) {
    if (count > MAX_EXTENSIONS) return MALFORMED;
    const extension = readExtension(reader);
    offsetNano = extension.offsetNano ?? offsetNano;
    packetType = extension.packetType;
  }
  if (kind === 'video' && ((first >> 4) & 0x07) === FRAME_COMMAND && packetType !== VIDEO_METADATA) return IGNORED;
  const media =
    packetType === MULTITRACK[kind]
      ? readMainTrack(reader)
      : { packetType, fourCc: reader.fourCc(), data: reader.rest() };
  if (media === undefined) return IGNORED;
  const codec = FOUR_CCS[kind].get(media.fourCc);
  return codec === undefined ? UNSUPPORTED : readPacket(kind, codec, media, offsetNano / 1e6);
}

/** Reads an extension, and the packet type after it. */
function readExtension(reader: TagReader): { packetType: number; offsetNano: number | undefined } {
  let size = reader.byte() + 1;
  if (size === 256) size = reader.number(2) + 1;
  const data = reader.bytes(size);
  const types = reader.byte();
  const offset = types >> 4 === MOD_EX_TIMESTAMP_OFFSET_NANO && size >= 3 ? data.readUIntBE(0, 3) : undefined;
  return {
    packetType: types & 0x0f,
    offsetNano: offset !== undefined && offset <= MAX_OFFSET_NANO ? offset : undefined,
  };
}

interface TrackBody {
  readonly packetType: number;
  readonly fourCc: string;
  readonly data: Buffer;
}

/** Finds the main track of a body. Undefined when it is not among the first {@link MAX_TRACKS}. */
function readMainTrack(reader: TagReader): TrackBody | undefined {
  const types = reader.byte();
  const arrangement = types >> 4;
  const packetType = types & 0x0f;
  const shared = arrangement === MANY_TRACKS_MANY_CODECS ? undefined : reader.fourCc();
  for (let count = 0; count < MAX_TRACKS && !reader.isAtEnd; count++) {
    const fourCc = shared ?? reader.fourCc();
    const trackId = reader.byte();
    const data = arrangement === ONE_TRACK ? reader.rest() : reader.bytes(reader.number(3));
    if (trackId === MAIN_TRACK) return { packetType, fourCc, data };
  }
  return undefined;
}

function readPacket(
  kind: TrackKind,
  codec: VideoCodec | AudioCodec,
  { packetType, data }: TrackBody,
  offsetMs: number,
): MediaTag {
  const frame = (compositionMs: number, media: Buffer): MediaTag =>
    media.length === 0 ? IGNORED : { type: 'frame', codec, offsetMs, compositionMs, data: media };
  switch (packetType) {
    case SEQUENCE_START:
      return data.length === 0 ? IGNORED : { type: 'config', codec, data };
    case CODED_FRAMES:
      if (codec !== 'h264' && codec !== 'h265') return frame(0, data);
      if (data.length < COMPOSITION_BYTES) return MALFORMED;
      return frame(compositionTime(data, 0), data.subarray(COMPOSITION_BYTES));
    case CODED_FRAMES_X:
      return kind === 'video' ? frame(0, data) : IGNORED;
    case MPEG2_TS_SEQUENCE_START:
      return kind === 'video' ? UNSUPPORTED : IGNORED;
    default:
      return IGNORED; // the end of a sequence, colour metadata, or a channel configuration
  }
}

/** A body ends within a field. */
class TruncatedBody extends Error {}

/** A position in a body. A read beyond its end throws {@link TruncatedBody}. */
class TagReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#body.length;
  }

  bytes(count: number): Buffer {
    const start = this.#at;
    if (count > this.#body.length - start) throw new TruncatedBody();
    this.#at += count;
    return this.#body.subarray(start, this.#at);
  }

  rest(): Buffer {
    return this.bytes(this.#body.length - this.#at);
  }

  number(byteCount: number): number {
    return this.bytes(byteCount).readUIntBE(0, byteCount);
  }

  byte(): number {
    return this.number(1);
  }

  fourCc(): string {
    return this.bytes(FOUR_CC_BYTES).toString('latin1');
  }
}
