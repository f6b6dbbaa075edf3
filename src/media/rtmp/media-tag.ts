/**
 * The content of an audio or video message, in the plain or the extended form.
 */
import type { AudioCodec, VideoCodec } from '#media/track.ts';

/** The content of a body. `data` is a view of the body. */
export type MediaTag =
  | { readonly type: 'config'; readonly codec: VideoCodec | AudioCodec; readonly data: Buffer }
  | {
      readonly type: 'frame';
      readonly codec: VideoCodec | AudioCodec;
      /** To be added to the message's timestamp, in milliseconds: 0 to 1. */
      readonly offsetMs: number;
      /** Presentation time minus decoding time, in milliseconds. 0 for audio. Negative when an encoder's decoding times are too late. */
      readonly compositionMs: number;
      readonly data: Buffer;
    }
  /** Nothing to play: the end of a sequence, a seek command, an empty body, or an additional track. */
  | { readonly type: 'ignored' }
  /** Truncated within the fields of its codec. */
  | { readonly type: 'malformed' }
  /** Of a codec that Millrace does not support. */
  | { readonly type: 'unsupported' };

/** A body with nothing to play. */
export const IGNORED: MediaTag = { type: 'ignored' };
/** A truncated body. */
export const MALFORMED: MediaTag = { type: 'malformed' };
/** A body of an unsupported codec. */
export const UNSUPPORTED: MediaTag = { type: 'unsupported' };

/** The size of a composition time, in bytes. */
export const COMPOSITION_BYTES = 3;

/** Reads a composition time: signed, in milliseconds. The body must contain its bytes. */
export function compositionTime(body: Buffer, at: number): number {
  return body.readIntBE(at, COMPOSITION_BYTES);
}
