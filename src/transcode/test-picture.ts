/**
 * Starts the process that draws the test picture, and hands out its media.
 */
import type { Packet } from '#media/packet.ts';
import type { Track } from '#media/track.ts';
import type { WorkerStarter } from './fork-server.ts';
import { FrameReader } from './framing.ts';
import { decodeTestMedia } from './test-picture-frames.ts';

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
export function drawTestPicture(forkServer: WorkerStarter, target: TestPictureTarget): AsyncDisposable {
  const ended = Promise.withResolvers<void>();
  let isOver = false;
  const reader = new FrameReader();
  const read = (chunk: Buffer): void => {
    for (const frame of reader.push(chunk)) {
      if (isOver) return;
      const media = decodeTestMedia(frame);
      if (media.type === 'track') target.track(media.track);
      else target.packet(media.packet);
    }
  };
  const worker = forkServer.start('test_picture', {
    onStarted(_, connection) {
      connection.on('error', kill);
      connection.write('\0'); // it begins with the first byte that it gets
      connection.on('data', (chunk: Buffer) => {
        try {
          read(chunk);
        } catch {
          kill();
        }
      });
    },
    onEnded() {
      isOver = true;
      ended.resolve();
      target.end();
    },
  });
  function kill(): void {
    forkServer.kill(worker);
  }
  return {
    async [Symbol.asyncDispose]() {
      kill();
      await ended.promise;
    },
  };
}
