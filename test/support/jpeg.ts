/**
 * Decodes JPEGs, with FFmpeg in this process.
 */
import { AV_CODEC_ID_MJPEG } from 'node-av/constants';
import { Codec, CodecContext, FFmpegError, Frame, Packet, Rational } from 'node-av/lib';

/** The brightness of a picture. */
export interface DecodedJpeg {
  readonly width: number;
  readonly height: number;
  /** The bytes from one row to the next. */
  readonly pitch: number;
  readonly luma: Buffer;
}

/** Decodes a JPEG. @throws {Error} when it is damaged */
export function decodeJpeg(jpeg: Uint8Array): DecodedJpeg {
  using context = new CodecContext();
  using packet = new Packet();
  using frame = new Frame();
  const codec = Codec.findDecoder(AV_CODEC_ID_MJPEG)!;
  context.allocContext3(codec);
  context.pktTimebase = new Rational(1, 1);
  FFmpegError.throwIfError(context.open2Sync(codec), 'open the JPEG decoder');
  packet.alloc();
  frame.alloc();
  packet.data = Buffer.from(jpeg);
  FFmpegError.throwIfError(context.sendPacketSync(packet), 'decode');
  FFmpegError.throwIfError(context.receiveFrameSync(frame), 'decode');
  if (frame.decodeErrorFlags !== 0) throw new Error('the JPEG is damaged');
  const { width, height } = frame;
  return { width, height, pitch: frame.linesize[0]!, luma: Buffer.from(frame.data![0]!) };
}
