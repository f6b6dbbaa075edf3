/**
 * Decodes media as a player would, in a child process with FFmpeg 8, and says which frames came out and when it beeps.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { DecodeReply } from './decode-child.ts';
import type { FrameCode } from './frame-code.ts';

/** What came out of the decoder, in the order it is shown. */
export interface Decoded {
  readonly frames: readonly DecodedFrame[];
  readonly sound: DecodedAudio | undefined;
  /** What FFmpeg complained about; none in a clean stream. */
  readonly complaints: readonly string[];
}

/** A decoded picture. Times are in seconds of the container's timeline. */
export interface DecodedFrame {
  readonly ptsS: number;
  readonly keyframe: boolean;
  readonly width: number;
  readonly height: number;
  /** What was burned in; undefined when it could not be read, because the picture is damaged or another's. */
  readonly code: FrameCode | undefined;
}

/** The decoded sound as a whole. Times are in seconds of the container's timeline. */
export interface DecodedAudio {
  readonly startS: number;
  readonly endS: number;
  readonly sampleRate: number;
  readonly channels: number;
  /** When each beep begins. */
  readonly beepsS: readonly number[];
}

/**
 * Decodes a whole file: an fMP4 init segment and the segments or parts that follow it joined, an FLV, whatever FFmpeg reads.
 * @throws {Error} when nothing in it can be decoded, or the decoder crashed
 */
export async function decode(pieces: readonly Uint8Array[]): Promise<Decoded> {
  const child = fork(join(import.meta.dirname, 'decode-child.ts'), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  let reply: DecodeReply | undefined;
  child.on('message', (message: DecodeReply) => {
    reply = message;
  });
  child.send(Buffer.concat(pieces));
  await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  if (reply === undefined) throw new Error(`the decoder crashed (${child.signalCode ?? child.exitCode})`);
  if ('error' in reply) throw new Error(reply.error);
  return reply.decoded;
}
