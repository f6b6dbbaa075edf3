/**
 * Media of any rate whose every frame carries the moment it was sent, in a place where every packager keeps it: a message
 * for nobody (SEI user data) at the start of the access unit. It has real configurations and no real slices: enough to be
 * packaged and served, not to be watched.
 */
import { randomFillSync } from 'node:crypto';
import { type FlvFileTag, fixtureTags } from '../../test/support/flv-file.ts';

/** What to make. */
export interface MediaShape {
  readonly fps: number;
  /** Seconds from keyframe to keyframe. */
  readonly gopS: number;
  /** The bitrate of video and audio together. */
  readonly bitrateBps: number;
}

/** The stamp in a frame. */
export interface Stamp {
  /** Number of the frame, from 0. */
  readonly frame: number;
  /** When the frame was written to the socket, by {@link wallMs}. */
  readonly sentAtMs: number;
}

/** Wall clock with fractions; the same in every process of the machine. */
export const wallMs = (): number => performance.timeOrigin + performance.now();

const FLV = { audio: 8, video: 9 } as const;
/** The UUID that marks a SEI message as ours (ITU-T H.264 §D.1.7: any 16 bytes). */
const STAMP_ID = Buffer.from('6d696c6c726163652d62656e63682121', 'hex');
const STAMP_BYTES = STAMP_ID.length + 12;
const NAL = { slice: 0x41, keySlice: 0x65, sei: 0x06 } as const;
const SEI_USER_DATA = 5;
/** The sample rate in the fixture's AudioSpecificConfig. */
const SAMPLE_RATE = 44_100;
const SAMPLES_PER_PACKET = 1024;
const AUDIO_BYTES = 180;
/** A keyframe is about this much larger than other frames. */
const KEYFRAME_WEIGHT = 5;

/** Makes the tags of one publisher. */
export class StampedMedia {
  readonly #shape: MediaShape;
  readonly #framesPerGop: number;
  readonly #frameBytes: number;
  #audioPackets = 0;

  constructor(shape: MediaShape) {
    this.#shape = shape;
    this.#framesPerGop = Math.round(shape.fps * shape.gopS);
    const audioBytesPerS = (AUDIO_BYTES * SAMPLE_RATE) / SAMPLES_PER_PACKET;
    const gopBytes = (shape.bitrateBps / 8 - audioBytesPerS) * shape.gopS;
    this.#frameBytes = Math.round(gopBytes / (this.#framesPerGop + KEYFRAME_WEIGHT - 1));
  }

  /** Both configurations. The metadata would name another rate. */
  configurations(): readonly FlvFileTag[] {
    const [video, audio] = [FLV.video, FLV.audio].map((kind) => fixtureTags().find(({ type }) => type === kind)!);
    return [video!, audio!];
  }

  /** The frame with this number, stamped with the present time. */
  video(frame: number): FlvFileTag {
    const isKeyframe = frame % this.#framesPerGop === 0;
    const body = Buffer.allocUnsafe(this.#frameBytes * (isKeyframe ? KEYFRAME_WEIGHT : 1));
    FILLER.copy(body, 0, frame % 1000);
    // An AVC NALU packet without composition time, with two NAL units, each preceded by its length.
    let at = body.writeUInt32BE(isKeyframe ? 0x17_01_00_00 : 0x27_01_00_00);
    at = body.writeUInt8(0, at);
    at = body.writeUInt32BE(3 + STAMP_BYTES + 1, at);
    at = body.writeUIntBE((NAL.sei << 16) | (SEI_USER_DATA << 8) | STAMP_BYTES, at, 3);
    at += STAMP_ID.copy(body, at);
    at = body.writeUInt32BE(frame, at);
    at = body.writeDoubleBE(wallMs(), at);
    at = body.writeUInt8(0x80, at);
    at = body.writeUInt32BE(body.length - at - 4, at);
    body.writeUInt8(isKeyframe ? NAL.keySlice : NAL.slice, at);
    return { type: FLV.video, timestamp: Math.round((frame * 1000) / this.#shape.fps), body };
  }

  /** The audio up to the frame with this number. */
  *audioBefore(frame: number): Generator<FlvFileTag> {
    const untilMs = (frame * 1000) / this.#shape.fps;
    for (; ; this.#audioPackets += 1) {
      const atMs = (this.#audioPackets * SAMPLES_PER_PACKET * 1000) / SAMPLE_RATE;
      if (atMs >= untilMs) return;
      const body = Buffer.concat([Buffer.of(0xaf, 1), FILLER.subarray(0, AUDIO_BYTES - 2)]);
      yield { type: FLV.audio, timestamp: Math.round(atMs), body };
    }
  }
}

/** Bytes that look like compressed data and contain no start code. */
const FILLER = randomFillSync(Buffer.alloc(4 << 20)).map((byte) => byte | 1) as Buffer;

/** Every stamp in a part or segment, in order. */
export function readStamps(bytes: Buffer): readonly Stamp[] {
  const stamps: Stamp[] = [];
  for (let at = bytes.indexOf(STAMP_ID); at !== -1; at = bytes.indexOf(STAMP_ID, at + STAMP_BYTES)) {
    const value = at + STAMP_ID.length;
    stamps.push({ frame: bytes.readUInt32BE(value), sentAtMs: bytes.readDoubleBE(value + 4) });
  }
  return stamps;
}
