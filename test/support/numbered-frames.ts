/**
 * Makes video whose frames have numbers, with any codec of ffmpeg, and reads the numbers of the frames that a file shows.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Track } from '#media/track.ts';
import { type Encoded, encode } from '../media/flv-source.ts';
import { encodeMp4 } from '../media/mp4-source.ts';
import { readFrameCode } from './frame-code.ts';
import { drawPicture } from './test-pattern.ts';

const run = promisify(execFile);

/** Which video {@link encodeNumbered} makes. */
export interface NumberedOptions {
  readonly codec: 'h264' | 'h265' | 'av1';
  /** The encoder and its options. */
  readonly encoder: string;
  readonly frames: number;
  readonly firstNumber?: number;
  readonly framesPerSecond?: number;
  /** At least 320. */
  readonly width?: number;
  readonly height?: number;
}

/** Draws and encodes frames. */
export async function encodeNumbered(options: NumberedOptions): Promise<Encoded> {
  const { codec, encoder, frames, firstNumber = 0, framesPerSecond = 30, width = 320, height = 180 } = options;
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-frames-'));
  const raw = join(folder.path, 'frames.yuv');
  const [lumaBytes, chromaBytes] = [width * height, (width * height) / 4];
  const all = Buffer.alloc(frames * (lumaBytes + 2 * chromaBytes));
  for (let frame = 0; frame < frames; frame++) {
    const at = frame * (lumaBytes + 2 * chromaBytes);
    const planes = [
      all.subarray(at, at + lumaBytes),
      all.subarray(at + lumaBytes, at + lumaBytes + chromaBytes),
      all.subarray(at + lumaBytes + chromaBytes, at + lumaBytes + 2 * chromaBytes),
    ] as const;
    const picture = { width, height, planes, lineStrides: [width, width / 2, width / 2] as const };
    drawPicture(picture, frame / framesPerSecond, { counter: firstNumber + frame, drawnAtMs: 0 });
  }
  await writeFile(raw, all);
  const input = `-f rawvideo -pix_fmt yuv420p -s ${width}x${height} -r ${framesPerSecond} -i ${raw}`;
  const args = [...input.split(' '), '-c:v', ...encoder.split(' ')];
  return codec === 'h264' ? await encode(codec, args) : await encodeMp4(codec, args);
}

/** Encodes AAC or Opus: a rising tone, so that the audio is different at every moment. */
export async function encodeTone(codec: 'aac' | 'opus', seconds: number, sampleRate = 48_000): Promise<Encoded> {
  const source = `aevalsrc=0.3*sin(2*PI*(200+200*t)*t):s=${sampleRate}:d=${seconds}`;
  const args = `-f lavfi -i ${source} -ac 2 -c:a ${codec === 'aac' ? 'aac' : 'libopus'}`;
  return codec === 'aac' ? await encode(codec, args.split(' ')) : await encodeMp4(codec, args.split(' '));
}

/** A frame as ffmpeg shows it. */
export interface ShownFrame {
  /** The number of the frame, or -1 when it cannot be read. */
  readonly number: number;
  /** A hash of the decoded luma. */
  readonly sha1: string;
}

/** How to read the frames of files. */
export interface ReadOptions {
  /** ffmpeg's name of the decoder, needed when ffmpeg would choose another one. */
  readonly decoder?: string | undefined;
  readonly width?: number;
  readonly height?: number;
}

/** Returns the frames that ffmpeg shows of a file with one frame size, in their order. Fails when ffmpeg reports any fault. */
export async function shownFrames(path: string, options: ReadOptions = {}): Promise<readonly ShownFrame[]> {
  const [frames] = await shownFramesOf([path], options);
  return frames!;
}

/**
 * Returns the frames of each of several files, as {@link shownFrames} does. One ffmpeg decodes all of them, because starting it takes
 * longer than decoding a few seconds of small frames.
 */
export async function shownFramesOf(
  paths: readonly string[],
  { decoder, width = 320, height = 180 }: ReadOptions = {},
): Promise<readonly (readonly ShownFrame[])[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-shown-'));
  const rawOf = (index: number) => join(folder.path, String(index));
  const chosen = decoder === undefined ? [] : ['-c:v', decoder];
  const raw = [...'-fps_mode passthrough -f rawvideo -pix_fmt gray -s'.split(' '), `${width}x${height}`];
  const { stderr } = await run('ffmpeg', [
    ...'-nostdin -v error -xerror'.split(' '),
    ...paths.flatMap((path) => [...chosen, '-threads', '1', '-i', path]),
    ...paths.flatMap((_, index) => ['-map', `${index}:v`, ...raw, rawOf(index)]),
  ]);
  if (stderr.length > 0) throw new Error(stderr);
  return await Promise.all(
    paths.map(async (_, index) => {
      const pixels = await readFile(rawOf(index));
      return Array.from({ length: pixels.length / (width * height) }, (_each, frame) => {
        const data = pixels.subarray(frame * width * height, (frame + 1) * width * height);
        const code = readFrameCode({ data, width, lineStride: width, pixelStride: 1 });
        return { number: code?.counter ?? -1, sha1: createHash('sha1').update(data).digest('hex') };
      });
    }),
  );
}

/** Shifts media to a later time. */
export function shifted({ track, samples }: Encoded, bySeconds: number): { track: Track; samples: Encoded['samples'] } {
  const by = Math.round(bySeconds * track.timescale);
  const move = (ticks: (typeof samples)[number]['dts']) => (ticks + by) as typeof ticks;
  return { track, samples: samples.map((sample) => ({ ...sample, dts: move(sample.dts), pts: move(sample.pts) })) };
}
