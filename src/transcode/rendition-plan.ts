/**
 * What each profile becomes for a given source: a pure function of the two.
 */
import type { H264_PROFILES, Profile } from '#domain/profile.ts';
import type { RenditionId } from '#media/session-event.ts';
import type { VideoTrack } from '#media/track.ts';
import { renditionIdOf } from './rendition-id.ts';

/** Seconds of its bitrate a rendition may send ahead: the size of the encoder's VBV buffer. */
const VBV_SECONDS = 1;
/** No segment that is cut for length is shorter; one cut by a discontinuity may be, and counts for no peak. */
const SHORTEST_SEGMENT_S = 2;
/** Below this an encoder gets nothing to work with: one macroblock. */
const MIN_SIDE = 16;

/** How often a rendition has keyframes besides those at segment cuts, which are always there. */
export type KeyframeRule = { readonly type: 'cuts' } | { readonly type: 'every_frame' } | SecondsInterval;
interface SecondsInterval {
  readonly type: 'seconds';
  readonly seconds: number;
}

/** One rendition to make. Plain data: it is sent to the worker as it is. */
export interface RenditionPlan {
  readonly id: RenditionId;
  /** The name of the profile it is made for. */
  readonly profile: string;
  /** Pixels, even, samples square. */
  readonly width: number;
  readonly height: number;
  /** Frames per second at most, as a fraction, also where the source declares fewer; undefined keeps every frame. */
  readonly frameRate: { readonly num: number; readonly den: number } | undefined;
  /** Average over time, and what the VBV buffer fills at. */
  readonly bitrateBps: number;
  /** No segment that was cut for its length exceeds it, whatever the pictures: announced as `BANDWIDTH`. */
  readonly peakBitrateBps: number;
  /** Bits the VBV buffer holds. */
  readonly bufferBits: number;
  /** Constant quality, lower is better; then `bitrateBps` is only the cap. */
  readonly quality: number | undefined;
  readonly keyframes: KeyframeRule;
  readonly h264Profile: (typeof H264_PROFILES)[number];
}

/** A profile no rendition is made of. */
export interface LeftOutProfile {
  /** The profile's name. */
  readonly profile: string;
  readonly reason: 'larger_than_source';
}

/** All that is made of a source, in the order of the profiles. */
export interface LadderPlan {
  readonly renditions: readonly RenditionPlan[];
  readonly leftOut: readonly LeftOutProfile[];
}

/**
 * Plans the renditions of a source.
 *
 * `width` x `height` of a profile is a box: the picture as displayed is fitted into it with its aspect ratio, and the box turns
 * with a portrait source. Nothing is ever enlarged. A profile that names no H.264 profile gets High, the best for its bits.
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

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Undefined when the picture would have to be enlarged to reach the box. */
function fit(profile: Profile, source: VideoTrack): Size | undefined {
  const turned = source.height > source.width && profile.width > profile.height;
  const [boxWidth, boxHeight] = turned ? [profile.height, profile.width] : [profile.width, profile.height];
  const scale = Math.min(boxWidth / source.width, boxHeight / source.height);
  if (scale > 1) return undefined;
  return { width: evenSide(source.width * scale, boxWidth), height: evenSide(source.height * scale, boxHeight) };
}

/** The nearest even number that stays in the box: 4:2:0 halves both sides. */
function evenSide(side: number, box: number): number {
  return Math.max(MIN_SIDE, Math.min(2 * Math.round(side / 2), 2 * Math.floor(box / 2)));
}

function keyframeRule(gop: string | undefined): KeyframeRule {
  if (gop === 'intra') return { type: 'every_frame' };
  const seconds = Number(gop ?? 0);
  return seconds > 0 ? { type: 'seconds', seconds } : { type: 'cuts' };
}
