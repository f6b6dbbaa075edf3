/**
 * Advice about what to change for a warning, in the words of the encoder's menus.
 */
import type { WarningCode } from '#domain/warnings.ts';
import { type EncoderKind, encoderKind } from './encoder-name.ts';

type Advice = Readonly<Partial<Record<EncoderKind, string>>> & { readonly other: string };

const ADVICE: Readonly<Partial<Record<WarningCode, Advice>>> = {
  keyframe_interval_too_long: {
    obs: 'OBS: Settings → Output → Output Mode “Advanced” → Streaming → Keyframe Interval: 2 s.',
    ffmpeg: 'ffmpeg: add -g 60 for 30 frames a second, or -force_key_frames "expr:gte(t,n_forced*2)" for any rate.',
    gstreamer: 'GStreamer: key-int-max=60 on x264enc for 30 frames a second.',
    other: 'Set the keyframe interval (also called GOP size) of the encoder to 2 seconds.',
  },
  source_not_widely_playable: {
    obs: 'OBS: Settings → Advanced → Color Format: NV12; and Settings → Output → Profile: high, B-Frames: 2.',
    ffmpeg: 'ffmpeg: add -pix_fmt yuv420p -profile:v high -bf 2.',
    gstreamer: 'GStreamer: put video/x-raw,format=I420 before the encoder, and set bframes=2 on x264enc.',
    other: 'Set the encoder to 8-bit 4:2:0, the profile High or lower, and at most 4 B-frames.',
  },
  timestamps_jumped: {
    ffmpeg:
      'ffmpeg: a file that loops needs -stream_loop -1 before -i, and -re. Do not restart the input for each round.',
    other:
      'Look for a source that starts again: a looping file, a scene that is switched on, a computer that was asleep.',
  },
  transcode_source_damaged: {
    obs: 'OBS: Settings → Output → Encoder: try x264; a driver of a hardware encoder is a common cause.',
    other: 'Restart the encoder, or try another one: a driver of a hardware encoder is a common cause.',
  },
  transcode_rendition_shed: { other: 'Use fewer or smaller profiles, or a lower frame rate, on this stream.' },
  transcode_rendition_failed: {
    other: 'Give the profile a usual size, bitrate, frame rate and H.264 profile, and start the stream again.',
  },
  transcode_frames_dropped: { other: 'Use fewer or smaller profiles, or a lower frame rate, on this stream.' },
  transcode_limit_reached: { other: 'End another stream that is transcoded, or ask the operator for a higher limit.' },
  transcode_quota_reached: { other: 'End another stream that is transcoded, or ask an admin for a larger quota.' },
  transcode_unavailable: { other: 'The operator must install Millrace with its optional packages.' },
  transcode_source_refused: {
    obs: 'OBS: Settings → Video → Output Resolution: 3840x2160 at most; then start streaming again.',
    other: 'Publish at most 4096x2304 with ordinary settings, and start the stream again.',
  },
};

/** The advice for a warning. Undefined when there is nothing to do. @param encoder the name that the encoder gives itself */
export function adviceFor(code: WarningCode, encoder: string | undefined): string | undefined {
  const advice = ADVICE[code];
  return advice?.[encoderKind(encoder)] ?? advice?.other;
}
