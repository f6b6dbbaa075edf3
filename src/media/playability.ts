/**
 * Names the properties of a video with which common players have trouble. Of H.264, hardware decoders, phones and browsers support only
 * 8-bit 4:2:0. Players that support H.265 or AV1 at all also decode 4:2:0 with 10 bits (Main 10, and AV1's Main profile).
 */
import type { VideoTrack } from './track.ts';

/** Profiles of H.264 above High, by `profile_idc` (ITU-T H.264 Annex A.2), and what they add that players lack. */
const H264_PROFILES: ReadonlyMap<number, string> = new Map([
  [44, '4:4:4 chroma (profile CAVLC 4:4:4)'],
  [88, 'the Extended profile'],
  [110, '10-bit samples (profile High 10)'],
  [122, '4:2:2 chroma (profile High 4:2:2)'],
  [244, '4:4:4 chroma (profile High 4:4:4)'],
]);
/** Level 5.2 is the highest that Apple's authoring rules allow, and that hardware decoders commonly have. */
const H264_MAX_LEVEL = 52;
/** Main and Main 10. Later profiles are the range extensions, with 4:2:2, 4:4:4 and more than 10 bits. */
const H265_MAX_PROFILE = 2;
/**
 * The greatest depth of B-frames that neither delays nor stops players. A decoder (FFmpeg, Chromium, Android) outputs a frame only when it
 * has decoded as many later ones as the bitstream states. With 16, a player must have half a second more media at 30 frames a second before
 * it shows anything, and near the live edge it freezes or falls behind: both are reported of decoders on Android. A decoder of level 4 or
 * 4.1 stores four frames of 1080p (ITU-T H.264 Table A-1), so players are used to that many. x264 and x265 state two at most by default.
 */
const MAX_REORDERED_FRAMES = 4;

/** Returns what common players cannot decode, or show late, in words that complete "the video has". Empty when there is none. */
export function unplayableProperties(track: VideoTrack): readonly string[] {
  const depth = track.reorderedFrames ?? 0;
  const deep = depth > MAX_REORDERED_FRAMES ? [`B-frames with a depth of ${depth} frames`] : [];
  return [...undecodableProperties(track), ...deep];
}

function undecodableProperties({ codec, codecString }: VideoTrack): readonly string[] {
  switch (codec) {
    case 'h264': {
      const [profile = 0, , level = 0] = Buffer.from(codecString.split('.')[1] ?? '', 'hex');
      const beyondHigh = H264_PROFILES.get(profile);
      return [
        ...(beyondHigh === undefined ? [] : [beyondHigh]),
        ...(level > H264_MAX_LEVEL ? [`level ${(level / 10).toFixed(1)}`] : []),
      ];
    }
    case 'h265': {
      const profile = Number(/^\w+\.[ABC]?(\d+)/.exec(codecString)?.[1]);
      return profile > H265_MAX_PROFILE
        ? ['4:2:2 or 4:4:4 chroma, or more than 10 bits a sample (an HEVC range extension)']
        : [];
    }
    case 'av1': {
      const profile = Number(codecString.split('.')[1]);
      return profile > 0 ? ['4:2:2 or 4:4:4 chroma, or 12-bit samples (AV1 above the Main profile)'] : [];
    }
  }
}
