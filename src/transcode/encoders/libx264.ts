/**
 * x264, tuned for live streaming: a short lookahead, one thread by default, keyframes only where requested.
 */
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { EncoderDescription } from '#transcode/encoder.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';

/** The x264 names of profiles. Its Baseline is the constrained one, and High without B-frames satisfies Constrained High. */
const PROFILES: Record<RenditionPlan['h264Profile'], { readonly name: string; readonly bFrames: 0 | 1 }> = {
  H264Baseline: { name: 'baseline', bFrames: 0 },
  H264ConstrainedHigh: { name: 'high', bFrames: 0 },
  H264Main: { name: 'main', bFrames: 1 },
  H264High: { name: 'high', bFrames: 1 },
};

/**
 * The lookahead with B-frames. Including the frame that is held until its duration is known, the delay is 133 ms at 30 frames per second.
 */
const LOOKAHEAD_S = 0.1;
/** The shortest lookahead in frames. With two frames, x264 places B-frames so badly that they cost another 0.4 dB. */
const LEAST_LOOKAHEAD = 3;
const MOST_LOOKAHEAD = 8;
/** The frame rate at which the lookahead, and the wait for a frame's duration, together take as long as a part. */
const HOLDS_FRAMES_FROM_FPS = (LEAST_LOOKAHEAD + 1) / PART_LENGTH_S;
/**
 * Changes to `veryfast`: half the motion search range, no partitions of B-frame blocks, and a second reference frame in exchange. Other
 * presets are unchanged.
 */
const VERYFAST = ['me=dia', 'partitions=p8x8,i8x8,i4x4', 'ref=2'];
/** x264 takes CRF 0 as lossless, which none of the supported profiles allows. */
const MIN_CRF = 1;
/**
 * The least that FFmpeg can pass on, because x264 counts in units of 1000 bits and FFmpeg rounds down. With a bitrate of 0 x264 does not
 * open, and with a limit of 0 it has none.
 */
const MIN_BITS = 1000;

/** A number of bits, or of bits per second, that x264 accepts. */
const bits = (wanted: number) => `${Math.max(MIN_BITS, wanted)}`;

/**
 * The low-delay settings, measured on three clips in three sizes at the bitrates of the default ladder, `veryfast`, against unchanged
 * `veryfast`:
 *
 * | profile | settings | luma PSNR | CPU | frames of delay |
 * |---|---|---|---|---|
 * | High, Main | one B-frame, `b-adapt=0`, 3 frames of lookahead, `qcomp=0.4`; {@link VERYFAST} | -0.46 dB | 0.73x | 4 |
 * | the same | `me=hex`, as `veryfast` has it | -0.44 dB | 0.78x | 4 |
 * | the same | B-frames divided, as `veryfast` does | -0.41 dB | 0.78x | 4 |
 * | the same | 1 reference, as `veryfast` has it | -0.54 dB | 0.70x | 4 |
 * | the same | `qcomp=0.6`, as x264 has it | -0.52 dB | 0.74x | 4 |
 * | Constrained High, Baseline | no B-frames, no lookahead | -1.18 dB | 0.76x | 1 |
 * | the same | 1 reference | -1.36 dB | 0.69x | 1 |
 *
 * The missing B-frames cause nearly all of the loss of Constrained High: unchanged `veryfast` without them is at -1.19 dB. A lower `qcomp`
 * strengthens the macroblock tree, which compensates for the few frames it sees. One thread is the default, because it costs the least CPU
 * and no frame of delay. Scene-cut detection is off, because a keyframe inside a segment is wasted.
 */
export const libx264: EncoderDescription = {
  name: 'libx264',
  holdsFramesFromFps: HOLDS_FRAMES_FROM_FPS,
  options(plan, { preset, threads, framesPerSecond }) {
    const { name, bFrames: most } = PROFILES[plan.h264Profile];
    const bFrames = framesPerSecond < HOLDS_FRAMES_FROM_FPS ? 0 : most;
    const wanted = Math.round(framesPerSecond * LOOKAHEAD_S);
    const lookahead = bFrames === 0 ? 0 : Math.min(MOST_LOOKAHEAD, Math.max(LEAST_LOOKAHEAD, wanted));
    return {
      preset,
      profile: name,
      threads: `${threads}`,
      ...(plan.quality === undefined ? { b: bits(plan.bitrateBps) } : { crf: `${Math.max(MIN_CRF, plan.quality)}` }),
      maxrate: bits(plan.bitrateBps),
      bufsize: bits(plan.bufferBits),
      'forced-idr': '1',
      'x264-params': [
        'annexb=0', // length-prefixed NAL units and an avcC record, as MP4 stores them
        'keyint=infinite',
        'scenecut=0',
        'open-gop=0',
        'sliced-threads=0', // slices cost quality, and another thread costs a frame of delay
        ...(preset === 'veryfast' ? VERYFAST : []),
        `bframes=${bFrames}`,
        'b-adapt=0',
        `rc-lookahead=${lookahead}`,
        lookahead === 0 ? 'mbtree=0' : 'qcomp=0.4',
      ].join(':'),
    };
  },
};
