import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { AV_PIX_FMT_YUV420P, AVCOL_RANGE_JPEG } from 'node-av/constants';
import { FFmpegError, type Frame } from 'node-av/lib';
import { decodeJpeg } from '#test/support/jpeg.ts';
import { FrameReader } from '#transcode/framing.ts';
import { decodeFromWorker, encodeFromWorker } from '#transcode/worker-protocol.ts';
import { emptyFrame } from './av.ts';
import { Photographer } from './photographer.ts';
import { ScaledFrames } from './scaled-frames.ts';

/** A frame in which every sample is black or white by chance, which makes the largest JPEGs. */
function noise(width: number, height: number): Frame {
  const frame = emptyFrame();
  Object.assign(frame, { width, height, format: AV_PIX_FMT_YUV420P, colorRange: AVCOL_RANGE_JPEG });
  FFmpegError.throwIfError(frame.getBuffer(), 'memory');
  for (const bytes of frame.data!) {
    const random = randomBytes(bytes.length);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = random[at]! < 128 ? 0 : 255;
  }
  return frame;
}

for (const [width, height] of [
  [640, 1280],
  [640, 4096],
  [1086, 8688],
] as const) {
  it(`makes a poster of ${width}x${height} that the server accepts, whatever it shows`, () => {
    const messages: Uint8Array[] = [];
    using photographer = new Photographer('poster', { width, height }, (jpeg, pts) => {
      messages.push(...encodeFromWorker({ type: 'picture', kind: 'poster', pts, jpeg }));
    });
    using frames = new ScaledFrames({ width, height }, () => {});
    frames.begin(noise(width, height));
    photographer.offer(frames, 0);
    const [message] = [...new FrameReader().push(Buffer.concat(messages))];
    const picture = decodeFromWorker(message!);
    assert.ok(picture.type === 'picture');
    const shown = decodeJpeg(picture.jpeg);
    assert.ok(Math.abs(shown.width / shown.height - width / height) < 0.01, `${shown.width}x${shown.height}`);
  });
}
