/**
 * What a client sends to create a stream.
 */
import { type Static, Type } from 'typebox';
import { MAX_PROFILES, ProfileSchema } from './profile.ts';
import { ref } from './ref.ts';
import { STORABLE } from './text.ts';

/** What a client sends to create a stream. */
export const NewStreamSchema = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 512,
      pattern: STORABLE,
      description: 'text of 1 to 512 characters, without U+0000 and unpaired surrogates.',
    }),
    profiles: Type.Optional(
      Type.Unsafe<Static<typeof ProfileSchema>[] | null>({
        type: ['array', 'null'],
        items: ref(ProfileSchema),
        maxItems: MAX_PROFILES,
        description: `a list of at most ${MAX_PROFILES} profiles, null or nothing for the default ladder, or [] for the source rendition only.`,
      }),
    ),
  },
  {
    $id: 'NewStream',
    additionalProperties: false,
    examples: [
      { name: 'my first stream', profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }] },
    ],
  },
);
