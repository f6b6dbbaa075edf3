/**
 * Video and audio that are encoded once and sent many times, so that a publisher costs hardly any CPU.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FlvFileTag, readFlvTags } from '../../test/support/flv-file.ts';

/** What to encode. */
export interface ClipShape {
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  /** Seconds from keyframe to keyframe. */
  readonly gopS: number;
  readonly bFrames: number;
  readonly bitrateBps: number;
}

/** A clip that can be sent again and again, because its video and audio have the same length. */
export interface Clip {
  /** Metadata and both configurations. */
  readonly head: readonly FlvFileTag[];
  /** The media in the order in which it is sent, each tag at its timestamp. */
  readonly tags: readonly FlvFileTag[];
  readonly lengthMs: number;
}

/** A length with a whole number of frames at every whole frame rate, and of packets of 1024 samples at 48 kHz. */
const LENGTH_S = 32;
const AUDIO_PACKETS = (LENGTH_S * 48_000) / 1024;
const FLV = { audio: 8, video: 9 } as const;
/** Upper half of a video tag's first byte. */
const KEYFRAME = 1;
/** Second byte of a media tag's body: a configuration, media, or the end. */
const BODY = { configuration: 0, media: 1 } as const;

/**
 * Encodes a clip with Debian's ffmpeg: a test picture, which has text and edges, and inside it a zoom into the Mandelbrot set, which has
 * detail everywhere. It is about as hard to encode as usual video: one ladder takes `ffmpeg` 0.3 of a core.
 */
export async function encodeClip({ width, height, fps, gopS, bFrames, bitrateBps }: ClipShape): Promise<Clip> {
  const pictures = `testsrc2=size=${width}x${height}:rate=${fps}[t];mandelbrot=size=${width / 2}x${height / 2}:rate=${fps}[m]`;
  const gop = gopS * fps;
  const flv = await ffmpegOutput(
    [
      ['-f', 'lavfi', '-i', `${pictures};[t][m]overlay=x=main_w/4:y=main_h/4[out0]`],
      ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'],
      ['-t', `${LENGTH_S}`, '-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p'],
      ['-b:v', `${bitrateBps}`, '-maxrate', `${bitrateBps}`, '-bufsize', `${bitrateBps}`],
      ['-x264-params', `keyint=${gop}:min-keyint=${gop}:scenecut=0:bframes=${bFrames}:b-adapt=0`],
      ['-c:a', 'aac', '-b:a', '128k', '-ac', '2', '-f', 'flv'],
    ].flat(),
  );
  return readClip(flv, LENGTH_S * fps);
}

/** Reads a clip out of the file it was written to. */
function readClip(flv: Buffer, frames: number): Clip {
  const all = readFlvTags(flv);
  const isMedia = ({ type, body }: FlvFileTag) => type in NAMES && body[1] === BODY.media;
  const head = all.filter((tag) => !isMedia(tag) && (tag.body[1] === BODY.configuration || !(tag.type in NAMES)));
  const media = (type: number, count: number) => {
    const found = all.filter((tag) => tag.type === type && isMedia(tag)).slice(0, count);
    if (found.length < count) throw new Error(`the clip has ${found.length} of ${count} ${NAMES[type]} packets`);
    return found;
  };
  const tags = [...media(FLV.video, frames), ...media(FLV.audio, AUDIO_PACKETS)];
  return { head, tags: tags.toSorted((a, b) => a.timestamp - b.timestamp), lengthMs: LENGTH_S * 1000 };
}

/**
 * The same clip, beginning at the first keyframe after a share of its length. The media before it comes last.
 * @throws {RangeError} when no keyframe follows
 */
export function begunAt(clip: Clip, share: number): Clip {
  const isFirst = ({ type, timestamp, body }: FlvFileTag) =>
    type === FLV.video && body[0]! >> 4 === KEYFRAME && timestamp >= share * clip.lengthMs;
  const first = clip.tags.findIndex(isFirst);
  if (first < 0) throw new RangeError(`no keyframe after ${share} of the clip`);
  const skippedMs = clip.tags[first]!.timestamp;
  const moved = (tags: Clip['tags'], byMs: number) => tags.map((tag) => ({ ...tag, timestamp: tag.timestamp + byMs }));
  const tags = [
    ...moved(clip.tags.slice(first), -skippedMs),
    ...moved(clip.tags.slice(0, first), clip.lengthMs - skippedMs),
  ];
  return { ...clip, tags };
}

const NAMES: Readonly<Record<number, string>> = { [FLV.audio]: 'audio', [FLV.video]: 'video' };

/** Runs Debian's ffmpeg and returns its standard output. @throws {Error} with the output of ffmpeg when it fails */
export async function ffmpegOutput(args: readonly string[]): Promise<Buffer> {
  const child = spawn('ffmpeg', ['-nostdin', '-hide_banner', '-loglevel', 'error', ...args, 'pipe:1'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pieces: Buffer[] = [];
  let words = '';
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  child.stderr.on('data', (piece: Buffer) => {
    words += piece.toString();
  });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`ffmpeg ended with ${child.exitCode}: ${words}`);
  return Buffer.concat(pieces);
}
