/**
 * Plans the renditions that are made of a source: a pure function of the profiles and the source.
 */
import type { H264_PROFILES, Profile } from '#domain/profile.ts';
import type { RenditionId } from '#media/session-event.ts';
import type { VideoTrack } from '#media/track.ts';
import { renditionIdOf } from './rendition-id.ts';
import type { Size } from './size.ts';

/** The size of the encoder's VBV buffer, as seconds of the rendition's bitrate. */
const VBV_SECONDS = 1;
/** The shortest segment that is cut for its length. A segment before a discontinuity may be shorter, and does not count for the peak. */
const SHORTEST_SEGMENT_S = 2;
/** The smallest side of a frame: one macroblock. */
const MIN_SIDE = 16;

/** The keyframes of a rendition besides those at the starts of segments, which always exist. */
export type KeyframeRule = { readonly type: 'cuts' } | { readonly type: 'every_frame' } | SecondsInterval;
interface SecondsInterval {
  readonly type: 'seconds';
  readonly seconds: number;
}

/** One rendition to make. It is plain data that is sent to the worker. */
export interface RenditionPlan {
  readonly id: RenditionId;
  /** The name of the profile that it is made for. */
  readonly profile: string;
  /** In pixels, even, with square samples. */
  readonly width: number;
  readonly height: number;
  /** The highest frame rate as a fraction, also where the source declares a lower one. Undefined keeps every frame. */
  readonly frameRate: { readonly num: number; readonly den: number } | undefined;
  /** The average over time, at which the VBV buffer fills. */
  readonly bitrateBps: number;
  /** The limit for every segment that is cut for its length, whatever the content. It is announced as `BANDWIDTH`. */
  readonly peakBitrateBps: number;
  /** The size of the VBV buffer in bits. */
  readonly bufferBits: number;
  /** The constant quality, where lower is better. With it, `bitrateBps` is only the limit. */
  readonly quality: number | undefined;
  readonly keyframes: KeyframeRule;
  readonly h264Profile: (typeof H264_PROFILES)[number];
}

/** A profile without a rendition. */
export interface LeftOutProfile {
  /** The name of the profile. */
  readonly profile: string;
  readonly reason: 'larger_than_source' | 'encoder_failed';
}

/** Everything that is made of a source, in the order of the profiles. */
export interface LadderPlan {
  readonly renditions: readonly RenditionPlan[];
  readonly leftOut: readonly LeftOutProfile[];
}

/** The plan for video that is not transcoded. */
export const NO_PLAN: LadderPlan = { renditions: [], leftOut: [] };

/**
 * Plans the renditions of a source.
 *
 * The `width` x `height` of a profile is a box. The frame as displayed is fitted into it with its aspect ratio, and the box is turned for a
 * portrait source. Nothing is ever enlarged. A profile that names no H.264 profile gets High, which has the best quality for its bits.
 */
export function planRenditions(profiles: readonly Profile[], source: VideoTrack): LadderPlan {
  const renditions: RenditionPlan[] = [];
  const leftOut: LeftOutProfile[] = [];
  for (const profile of profiles) {
    const size = fit(profile, source);
    if (size === undefined) leftOut.push({ profile: profile.name, reason: 'larger_than_source' });
    else renditions.push(plan(profile, renditionIdOf(profile.name, profiles), size));
  }
  return { renditions, leftOut };
}

function plan(profile: Profile, id: RenditionId, size: Size): RenditionPlan {
  const bufferBits = Math.round(profile.bitrate * VBV_SECONDS);
  return {
    id,
    profile: profile.name,
    ...size,
    frameRate: profile.fps === 0 ? undefined : { num: profile.fps, den: profile.fpsDen ?? 1 },
    bitrateBps: profile.bitrate,
    peakBitrateBps: Math.ceil(profile.bitrate + bufferBits / SHORTEST_SEGMENT_S),
    bufferBits,
    quality: profile.quality,
    keyframes: keyframeRule(profile.gop),
    h264Profile: profile.profile ?? 'H264High',
  };
}

/** Undefined when the frame would have to be enlarged to fill the box. */
function fit(profile: Profile, source: VideoTrack): Size | undefined {
  const turned = source.height > source.width && profile.width > profile.height;
  const [boxWidth, boxHeight] = turned ? [profile.height, profile.width] : [profile.width, profile.height];
  const scale = Math.min(boxWidth / source.width, boxHeight / source.height);
  if (scale > 1) return undefined;
  return { width: evenSide(source.width * scale, boxWidth), height: evenSide(source.height * scale, boxHeight) };
}

/** The nearest even number within the box, because 4:2:0 halves both sides. */
function evenSide(side: number, box: number): number {
  return Math.max(MIN_SIDE, Math.min(2 * Math.round(side / 2), 2 * Math.floor(box / 2)));
}

function keyframeRule(gop: string | undefined): KeyframeRule {
  if (gop === 'intra') return { type: 'every_frame' };
  const seconds = Number(gop ?? 0);
  return seconds > 0 ? { type: 'seconds', seconds } : { type: 'cuts' };
}
