/**
 * Recognises encoders by the name they give themselves.
 */

/** A kind of encoder whose menus we know. */
export type EncoderKind = 'obs' | 'ffmpeg' | 'gstreamer' | 'other';

/** The kind of an encoder. @param name as it was sent, which may be anything */
export function encoderKind(name: string | undefined): EncoderKind {
  if (name === undefined) return 'other';
  if (/\bobs\b|libobs/i.test(name)) return 'obs';
  if (/lavf|ffmpeg/i.test(name)) return 'ffmpeg';
  return /gst|GStreamer/i.test(name) ? 'gstreamer' : 'other';
}

/** A short name for people: `OBS 31.0.2`. */
export function encoderTitle(name: string | undefined): string {
  if (name === undefined || name === '') return 'An encoder';
  const version = /\d+(?:\.\d+)+/.exec(name)?.[0];
  const title = { obs: 'OBS', ffmpeg: 'ffmpeg', gstreamer: 'GStreamer', other: '' }[encoderKind(name)];
  if (title === '') return name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return version === undefined || title === 'ffmpeg' ? title : `${title} ${version}`;
}
