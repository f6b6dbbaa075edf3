/**
 * x264, tuned for live: a short look ahead, no frame threads, keyframes only where asked.
 */
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { EncoderDescription } from '#transcode/encoder.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';

/** x264's names. Its Baseline is the constrained one; a High without B-frames is what Constrained High asks. */
const PROFILES: Record<RenditionPlan['h264Profile'], { readonly name: string; readonly bFrames: 0 | 1 }> = {
  H264Baseline: { name: 'baseline', bFrames: 0 },
  H264ConstrainedHigh: { name: 'high', bFrames: 0 },
  H264Main: { name: 'main', bFrames: 1 },
  H264High: { name: 'high', bFrames: 1 },
};

/** How far x264 looks ahead where it has B-frames. With the frame it waits for to know a duration: 133 ms at 30 frames a second. */
const LOOKAHEAD_S = 0.1;
/** In frames. With two it plans B-frames so badly that they cost another 0.4 dB. */
const LEAST_LOOKAHEAD = 3;
const MOST_LOOKAHEAD = 8;
/** Looking ahead, and waiting for a frame's duration, takes as long as a part at this rate. */
const WAITS_FROM = (LEAST_LOOKAHEAD + 1) / PART_LENGTH_S;
/**
 * Of `veryfast`: searches half as wide for what moved, does not divide blocks of B-frames, and looks at a second reference for it.
 * Other presets are as they come.
 */
const VERYFAST = ['me=dia', 'partitions=p8x8,i8x8,i4x4', 'ref=2'];
/** x264 takes CRF 0 as lossless, which no profile of ours can hold. */
const MIN_CRF = 1;

/**
 * The low-delay settings, measured on three moving pictures in three sizes at the bitrates of the default ladder, `veryfast`, against
 * stock `veryfast`:
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
 * The missing B-frames cost nearly all of Constrained High's: stock without them is at -1.19 dB. A lower `qcomp` is a stronger macroblock
 * tree, which makes up for how few frames it sees.
 * One thread, because it costs the least CPU and no frame of delay; scene cuts off, because a keyframe that is not a cut is wasted.
 */
export const libx264: EncoderDescription = {
  name: 'libx264',
  waitsFrom: WAITS_FROM,
  options(plan, { preset, threads, framesPerSecond }) {
    const { name, bFrames: most } = PROFILES[plan.h264Profile];
    const bFrames = framesPerSecond < WAITS_FROM ? 0 : most;
    const wanted = Math.round(framesPerSecond * LOOKAHEAD_S);
    const lookahead = bFrames === 0 ? 0 : Math.min(MOST_LOOKAHEAD, Math.max(LEAST_LOOKAHEAD, wanted));
    return {
      preset,
      profile: name,
      threads: `${threads}`,
      ...(plan.quality === undefined ? { b: `${plan.bitrateBps}` } : { crf: `${Math.max(MIN_CRF, plan.quality)}` }),
      maxrate: `${plan.bitrateBps}`,
      bufsize: `${plan.bufferBits}`,
      'forced-idr': '1',
      'x264-params': [
        'annexb=0', // lengths before NAL units and an avcC record: what MP4 stores
        'keyint=infinite',
        'scenecut=0',
        'open-gop=0',
        'sliced-threads=0', // slices cost quality; a thread more costs a frame of delay
        ...(preset === 'veryfast' ? VERYFAST : []),
        `bframes=${bFrames}`,
        'b-adapt=0',
        `rc-lookahead=${lookahead}`,
        lookahead === 0 ? 'mbtree=0' : 'qcomp=0.4',
      ].join(':'),
    };
  },
};
