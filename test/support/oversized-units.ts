/**
 * Keyframes whose parameter sets state a larger size than the frames have, as a decoder would get them if nothing checked them before.
 * It loads FFmpeg into the process, so it is for tests that do so anyway.
 */
import { AV_PIX_FMT_YUV420P } from 'node-av/constants';
import { FFmpegError, Frame } from 'node-av/lib';
import { OBU, obus } from '#media/codecs/av1-obu.ts';
import type { VideoCodec } from '#media/track.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import { VideoEncoder } from '#transcode/worker/video-encoder.ts';
import { makeClip } from './clip.ts';
import { nalUnits } from './nal-units.ts';
import { accessUnit, obuOf, resizedAvcSps, resizedHevcSps, resizedSequence } from './parameter-sets.ts';

const SIZE = { width: 640, height: 360 };
/** The size that x265 encodes, which is a multiple of 16 lines. */
const HEVC_SIZE = { width: 640, height: 368 };
const FRAMES = 3;

/** A decoder configuration, and access units that state a larger size. */
export interface OversizedUnits {
  readonly config: Uint8Array;
  readonly units: readonly Uint8Array[];
}

/** Makes access units that state this size. Each is a keyframe. */
export function oversizedUnits(codec: VideoCodec, width: number, height: number): OversizedUnits {
  return MAKERS[codec]({ width, height });
}

const MAKERS: Record<VideoCodec, (size: typeof SIZE) => OversizedUnits> = {
  h264(size) {
    const { track, packets } = makeClip({ ...SIZE, frames: FRAMES, gop: 1 });
    const { config } = track;
    const spsLength = config[6]! * 256 + config[7]!;
    const sps = resizedAvcSps(config.subarray(8, 8 + spsLength), SIZE, size);
    // FFmpeg ties a PPS to the SPS before it, so another SPS takes effect only with the next PPS.
    const ppsAt = 8 + spsLength + 3;
    const pps = config.subarray(ppsAt, ppsAt + config[ppsAt - 1]!);
    const slices = (data: Uint8Array) => nalUnits(data, 4).filter((nal) => (nal[0]! & 0x1f) <= 5);
    return { config, units: packets.map(({ data }) => accessUnit(sps, pps, ...slices(data))) };
  },

  // FFmpeg's x265 writes start codes even into its configuration, so FFmpeg's decoder expects them.
  h265(size) {
    const { track, packets } = makeClip({ ...SIZE, frames: FRAMES, gop: 1, openGop: true });
    const sets = withoutStartCodes(track.config).map((nal) =>
      nal[0]! >> 1 === 33 ? resizedHevcSps(nal, HEVC_SIZE, size) : nal,
    );
    const slices = (data: Uint8Array) => withoutStartCodes(data).filter((nal) => nal[0]! >> 1 < 32);
    const units = packets.map(({ data }) =>
      Buffer.concat([...sets, ...slices(data)].flatMap((nal) => [Buffer.of(0, 0, 0, 1), nal])),
    );
    return { config: track.config, units };
  },

  av1(size) {
    const frame = new Frame();
    frame.alloc();
    frame.width = SIZE.width;
    frame.height = SIZE.height;
    frame.format = AV_PIX_FMT_YUV420P;
    FFmpegError.throwIfError(frame.getBuffer(), 'frame memory');
    const made: Uint8Array[] = [];
    const description = { name: 'libsvtav1', options: () => ({ preset: '12', 'svtav1-params': 'keyint=1' }) };
    const settings = { preset: 'ultrafast', threads: 1, framesPerSecond: 30 };
    using encoder = new VideoEncoder(
      description,
      { plan: SIZE as RenditionPlan, settings, first: frame },
      ({ data }) => void made.push(Uint8Array.from(data)),
    );
    for (let index = 0; index < FRAMES; index += 1) {
      FFmpegError.throwIfError(frame.makeWritable(), 'frame memory');
      encoder.encode(frame, index * 3000, 'keyframe');
    }
    encoder.finish();
    frame.free();
    const resized = (data: Uint8Array) =>
      [...obus(data)].map(({ type, payload, whole }) =>
        type === OBU.sequenceHeader ? obuOf(type, resizedSequence(payload, SIZE, size)) : whole,
      );
    return { config: encoder.config, units: made.map((data) => Buffer.concat(resized(data))) };
  },
};

/** The NAL units of a byte stream (ITU-T H.265 Annex B). */
function withoutStartCodes(stream: Uint8Array): Uint8Array[] {
  const nals: Uint8Array[] = [];
  let start = -1;
  for (let at = 0; at + 2 < stream.length; at += 1) {
    if (stream[at] !== 0 || stream[at + 1] !== 0 || stream[at + 2] !== 1) continue;
    let end = at;
    while (end > start && stream[end - 1] === 0) end -= 1;
    if (start >= 0) nals.push(stream.subarray(start, end));
    start = at + 3;
  }
  if (start >= 0) nals.push(stream.subarray(start));
  return nals;
}
