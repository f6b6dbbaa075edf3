/**
 * Starts the process that draws the test picture, and hands out its media.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Packet } from '#media/packet.ts';
import type { Track } from '#media/track.ts';
import { FrameReader } from './framing.ts';
import { decodeTestMedia } from './test-picture-frames.ts';

const PROCESS_FILE = join(import.meta.dirname, 'worker/test-picture.ts');
/** The limit of the JavaScript heap. Frames are outside of it. */
const MAX_HEAP_MIB = 64;

/** Receives the media of a test picture. */
export interface TestPictureTarget {
  /** Called with the description of a track, before its packets. */
  track(track: Track): void;
  /** Called with the next packet, in real time. */
  packet(packet: Packet): void;
  /** Called once, when the process has ended, for whatever reason. */
  end(): void;
}

/** Begins a test picture. Disposing it ends the process. FFmpeg must be installed. */
export function drawTestPicture(target: TestPictureTarget): AsyncDisposable {
  const child = spawn(process.execPath, [`--max-old-space-size=${MAX_HEAP_MIB}`, PROCESS_FILE], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env: {},
  });
  const ended = Promise.withResolvers<void>();
  let isOver = false;
  child.on('error', () => {}); // it has no pid then, and `close` is emitted
  child.once('close', () => {
    isOver = true;
    ended.resolve();
    target.end();
  });
  const kill = (): void => void child.kill('SIGKILL');
  const connection = child.stdio[3] as Duplex | undefined;
  connection?.on('error', kill);
  const reader = new FrameReader();
  connection?.on('data', (chunk: Buffer) => {
    try {
      for (const frame of reader.push(chunk)) {
        if (isOver) return;
        const media = decodeTestMedia(frame);
        if (media.type === 'track') target.track(media.track);
        else target.packet(media.packet);
      }
    } catch {
      kill();
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      kill();
      await ended.promise;
    },
  };
}
