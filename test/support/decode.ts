/**
 * Decodes media like a player, in a child process with FFmpeg 8, and reports which frames came out and when it beeps.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { DecodeReply } from './decode-child.ts';
import type { FrameCode } from './frame-code.ts';

/** The decoded media, in presentation order. */
export interface Decoded {
  readonly frames: readonly DecodedFrame[];
  readonly audio: DecodedAudio | undefined;
  /** The complaints of FFmpeg. None for a valid stream. */
  readonly complaints: readonly string[];
}

/** A decoded frame. Times are in seconds of the container's timeline. */
export interface DecodedFrame {
  readonly ptsS: number;
  readonly keyframe: boolean;
  readonly width: number;
  readonly height: number;
  /** The burned-in code. Undefined when it cannot be read, because the frame is damaged or from another source. */
  readonly code: FrameCode | undefined;
}

/** The decoded audio as a whole. Times are in seconds of the container's timeline. */
export interface DecodedAudio {
  readonly startS: number;
  readonly endS: number;
  readonly sampleRate: number;
  readonly channels: number;
  /** When each beep begins. */
  readonly beepsS: readonly number[];
}

/** The decoding process, and the callers that wait for its answers, oldest first. */
interface Decoder {
  readonly child: ChildProcess;
  readonly waiting: PromiseWithResolvers<DecodeReply>[];
  idle?: NodeJS.Timeout;
}

/** A process is kept until it has been idle for this long, because starting one costs more CPU time than decoding a few seconds. */
const IDLE_MS = 2000;
let running: Decoder | undefined;

/**
 * Decodes a whole file: an fMP4 init segment and the segments or parts that follow it joined, an FLV, whatever FFmpeg reads.
 * @throws {Error} when nothing in it can be decoded, or the decoder crashed
 */
export async function decode(pieces: readonly Uint8Array[]): Promise<Decoded> {
  // After a crash, a process may have closed its channel before its end is known.
  if (!running?.child.connected) running = start();
  const decoder = running;
  clearTimeout(decoder.idle);
  decoder.child.ref();
  decoder.child.channel?.ref();
  const answer = Promise.withResolvers<DecodeReply>();
  decoder.waiting.push(answer);
  decoder.child.send(Buffer.concat(pieces));
  const reply = await answer.promise;
  if ('error' in reply) throw new Error(reply.error);
  return reply.decoded;
}

function start(): Decoder {
  const child = fork(join(import.meta.dirname, 'decode-child.ts'), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  const decoder: Decoder = { child, waiting: [] };
  child.on('message', (reply: DecodeReply) => {
    decoder.waiting.shift()?.resolve(reply);
    if (decoder.waiting.length > 0) return;
    // It does not keep the test's process alive, and ends with it.
    child.unref();
    child.channel?.unref();
    decoder.idle = setTimeout(() => end(decoder), IDLE_MS).unref();
  });
  const onEnd = (why: string) => {
    if (running === decoder) running = undefined;
    for (const { reject } of decoder.waiting.splice(0)) reject(new Error(`the decoder ended (${why})`));
  };
  child.on('error', ({ message }) => onEnd(message));
  child.once('exit', (code, signal) => onEnd(String(signal ?? code)));
  return decoder;
}

function end(decoder: Decoder): void {
  if (running === decoder) running = undefined;
  decoder.child.disconnect();
}
