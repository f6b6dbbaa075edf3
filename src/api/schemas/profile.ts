/**
 * The profile of an output rendition.
 */

import { H264_PROFILES } from '#domain/profile.ts';
import { Type } from '#lib/schema.ts';
import { PRINTABLE } from './text.ts';

/** The largest number of profiles of a stream. */
export const MAX_PROFILES = 16;

/** The profile of an output rendition. */
export const ProfileSchema = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 500,
      pattern: PRINTABLE,
      description: 'text of 1 to 500 characters without control characters, unique in the stream, not "source".',
    }),
    bitrate: Type.Integer({
      minimum: 400,
      maximum: 200_000_000,
      description: 'bits per second, a whole number from 400 to 200000000.',
    }),
    fps: Type.Integer({
      minimum: 0,
      maximum: 240_000,
      description:
        'a whole number: frames per second multiplied by fpsDen, at most 240 per second, or 0 for the frame rate of the source.',
    }),
    width: Type.Integer({ minimum: 128, maximum: 8192, description: 'pixels, a whole number from 128 to 8192.' }),
    height: Type.Integer({ minimum: 128, maximum: 8192, description: 'pixels, a whole number from 128 to 8192.' }),
    fpsDen: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1001,
        description: 'the denominator of fps, a whole number from 1 to 1001 (fps 30000 over fpsDen 1001 is 29.97).',
      }),
    ),
    gop: Type.Optional(
      Type.String({
        pattern: '^(intra|[0-9]{1,2}(\\.[0-9]{1,3})?)$',
        description:
          'the keyframe interval as text: seconds such as "2.0", "0" for the default, or "intra" to make every frame a keyframe.',
      }),
    ),
    profile: Type.Optional(
      Type.Unsafe<(typeof H264_PROFILES)[number]>({
        type: 'string',
        enum: [...H264_PROFILES],
        description: 'an H.264 profile.',
      }),
    ),
    quality: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 44, description: 'a constant quality, a whole number from 0 to 44.' }),
    ),
    encoder: Type.Optional(
      Type.Literal('H.264', {
        type: 'string',
        description: 'H.264, the only supported encoder and the default.',
      }),
    ),
  },
  {
    $id: 'Profile',
    additionalProperties: false,
    description: 'One output rendition. Answers repeat it exactly as it was sent.',
    examples: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
  },
);
