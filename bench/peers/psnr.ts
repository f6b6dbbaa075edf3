/**
 * Encodes frames with our settings and with stock ones, decodes both and compares them. It runs in a process of its own, because it loads
 * FFmpeg. It answers its first message with 0, and every further one with a {@link PsnrReport}.
 */
import { AV_LOG_QUIET, AV_PIX_FMT_YUV420P } from 'node-av/constants';
import { FFmpegError, Frame, Log } from 'node-av/lib';
import type { Profile } from '#domain/profile.ts';
import { ticks } from '#lib/units.ts';
import { VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import type { EncoderDescription } from '#transcode/encoder.ts';
import { libx264 } from '#transcode/encoders/libx264.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import { FrameGate } from '#transcode/worker/frame-gate.ts';
import { VideoDecoder } from '#transcode/worker/video-decoder.ts';
import { VideoEncoder } from '#transcode/worker/video-encoder.ts';

/** Frames of the profile's size, one after another, planar 4:2:0. */
export interface PsnrJob {
  readonly pictures: Uint8Array;
  readonly profile: Profile;
  readonly framesPerSecond: number;
}

/** The result for one encoder. */
interface Encoding {
  /** The PSNR of the luma of all frames together. */
  readonly psnrDb: number;
  readonly bitrateBps: number;
}

/** The results of both encoders. */
export interface PsnrReport {
  readonly ours: Encoding;
  readonly stock: Encoding;
}

/** The interval at which the service begins a segment, in seconds. */
const KEYFRAME_EVERY_S = 2;

/** x264 with its stock settings, at the same bitrate. */
const stock: EncoderDescription = {
  name: libx264.name,
  options({ bitrateBps, bufferBits }, { preset }) {
    const rate = { b: `${bitrateBps}`, maxrate: `${bitrateBps}`, bufsize: `${bufferBits}` };
    // The only setting that differs from the stock ones is the form of NAL units, because our decoder expects lengths.
    return { preset, profile: 'high', threads: '1', ...rate, 'forced-idr': '1', 'x264-params': 'annexb=0' };
  },
};

Log.setLevel(AV_LOG_QUIET);
process.once('message', () => {
  process.on('message', (job: PsnrJob) => {
    process.send?.({ ours: encode(libx264, job), stock: encode(stock, job) } satisfies PsnrReport);
  });
  process.send?.(0);
});
process.once('disconnect', () => process.exit());

function encode(description: EncoderDescription, { pictures, profile, framesPerSecond }: PsnrJob): Encoding {
  const { width, height } = profile;
  const source = { width, height, declaredFrameRate: framesPerSecond } as VideoTrack;
  const [plan] = planRenditions([profile], source).renditions;
  const pictureBytes = (width * height * 3) / 2;
  const count = pictures.length / pictureBytes;
  const ptsOf = (index: number) => Math.round((index * VIDEO_TIMESCALE) / framesPerSecond);

  using frame = new Frame();
  frame.alloc();
  Object.assign(frame, { width, height, format: AV_PIX_FMT_YUV420P });
  FFmpegError.throwIfError(frame.getBuffer(), 'picture memory');
  const packets: Parameters<VideoDecoder['decode']>[0][] = [];
  const settings = { preset: 'veryfast', threads: 1, framesPerSecond };
  using encoder = new VideoEncoder(
    description,
    { plan: plan!, settings, first: frame },
    ({ pts, dts, keyframe, data }) => {
      packets.push({ kind: 'video', pts: ticks(pts), dts: ticks(dts), keyframe, data });
    },
  );
  const gate = new FrameGate(plan!, framesPerSecond);
  for (let index = 0; index < count; index += 1) {
    FFmpegError.throwIfError(frame.makeWritable(), 'picture memory');
    copyPicture(pictures.subarray(index * pictureBytes), frame);
    const pts = ptsOf(index);
    const verdict = gate.judge(pts, index % (KEYFRAME_EVERY_S * framesPerSecond) === 0);
    if (verdict === 'skip') throw new Error(`picture ${index} was left out`);
    // The stock encoder chooses frame types by itself, except for keyframes.
    encoder.encode(frame, pts, description === stock && verdict === 'anchor' ? 'take' : verdict);
  }
  encoder.finish();

  let error = 0;
  let shown = 0;
  using decoder = new VideoDecoder({ codec: 'h264', config: encoder.config }, (decoded) => {
    const index = Math.round((Number(decoded.pts) * framesPerSecond) / VIDEO_TIMESCALE);
    error += squaredError(pictures.subarray(index * pictureBytes), decoded);
    shown += 1;
  });
  for (const packet of packets) decoder.decode(packet);
  decoder.finish();
  if (shown !== count) throw new Error(`${shown} of ${count} pictures came back`);
  const bits = packets.reduce((sum, { data }) => sum + data.length * 8, 0);
  return {
    psnrDb: 10 * Math.log10(255 ** 2 / (error / (width * height * count))),
    bitrateBps: (bits * framesPerSecond) / count,
  };
}

/** Fills the planes of a frame from raw data without padding. */
function copyPicture(picture: Uint8Array, frame: Frame): void {
  let at = 0;
  for (const [plane, data] of (frame.data ?? []).slice(0, 3).entries()) {
    const [width, height] = plane === 0 ? [frame.width, frame.height] : [frame.width / 2, frame.height / 2];
    for (let line = 0; line < height; line += 1) {
      data.set(picture.subarray(at, at + width), line * frame.linesize[plane]!);
      at += width;
    }
  }
}

/** The sum over the luma. */
function squaredError(picture: Uint8Array, { data, linesize, width, height }: Frame): number {
  const luma = data![0]!;
  const stride = linesize[0]!;
  let sum = 0;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const difference = picture[y * width + x]! - luma[y * stride + x]!;
      sum += difference * difference;
    }
  }
  return sum;
}
