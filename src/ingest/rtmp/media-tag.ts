/**
 * What the body of an audio or video message turns out to be, plain or extended.
 */
import type { AudioCodec, VideoCodec } from '#media/track.ts';

/** What a body holds. Data are views of the body. */
export type MediaTag =
  | { readonly type: 'config'; readonly codec: VideoCodec | AudioCodec; readonly data: Buffer }
  | {
      readonly type: 'frame';
      readonly codec: VideoCodec | AudioCodec;
      /** What the message's timestamp leaves out, in milliseconds: 0 to 1. */
      readonly offsetMs: number;
      /** Presentation time minus decoding time, in milliseconds; 0 for audio. Negative only where an encoder's decoding times are too late. */
      readonly compositionMs: number;
      readonly data: Buffer;
    }
  /** Nothing to play: end of sequence, seek commands, empty bodies, extra tracks we have not asked for. */
  | { readonly type: 'ignored' }
  /** Cut off before its codec's fields end. */
  | { readonly type: 'malformed' }
  /** Of a codec that Millrace does not take. */
  | { readonly type: 'unsupported' };

/** Nothing to play. */
export const IGNORED: MediaTag = { type: 'ignored' };
/** Cut off. */
export const MALFORMED: MediaTag = { type: 'malformed' };
/** Of a codec that Millrace does not take. */
export const UNSUPPORTED: MediaTag = { type: 'unsupported' };

/** Bytes of a composition time. */
export const COMPOSITION_BYTES = 3;

/** A composition time: signed, in milliseconds. Its bytes must be there. */
export function compositionTime(body: Buffer, at: number): number {
  return body.readIntBE(at, COMPOSITION_BYTES);
}
