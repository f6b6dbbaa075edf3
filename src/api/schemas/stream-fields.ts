/**
 * The fields that a client may set on a stream. They are the same for creating and for changing a stream.
 */
import type { Static } from 'typebox';
import type { UserTags } from '#domain/stream.ts';
import { Type } from '#lib/schema.ts';
import { playbackPolicyField } from './playback-policy.ts';
import { MAX_PROFILES, ProfileSchema } from './profile.ts';
import { ref } from './ref.ts';
import { STORABLE } from './text.ts';

/** The creator that a client names for a stream: a text, or the form in which answers show it. */
type CreatorIdInput = string | { type: 'unverified'; value: string };

const creatorIdText = { minLength: 1, maxLength: 512, pattern: STORABLE };
const CREATOR_ID = 'text of 1 to 512 characters, or {"type":"unverified","value":<such text>}.';

/** The field `name`, which is the only one required to create a stream. */
export const nameField = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: STORABLE,
  description: 'text of 1 to 512 characters, without U+0000 and unpaired surrogates.',
});

/** The field `creatorId`. */
export const creatorIdField = Type.Optional(
  Type.Unsafe<CreatorIdInput>({
    type: ['string', 'object'],
    ...creatorIdText,
    properties: {
      type: { type: 'string', const: 'unverified', description: 'the text unverified.' },
      value: { type: 'string', ...creatorIdText, description: 'text of 1 to 512 characters.' },
    },
    required: ['type', 'value'],
    additionalProperties: false,
    description: CREATOR_ID,
  }),
);

/**
 * The other fields. Of a field that is not supported yet, only the value that requests nothing is accepted, so that no request is ignored
 * silently.
 */
export const optionalStreamFields = {
  profiles: Type.Optional(
    Type.Unsafe<Static<typeof ProfileSchema>[] | null>({
      type: ['array', 'null'],
      items: ref(ProfileSchema),
      maxItems: MAX_PROFILES,
      description: `a list of at most ${MAX_PROFILES} profiles, null for the default ladder, or [] for the source rendition only.`,
    }),
  ),
  record: Type.Optional(
    Type.Boolean({
      description: 'true to record the sessions of the stream, false not to record them.',
    }),
  ),
  recordingSpec: Type.Optional(
    Type.Unsafe<{ profiles?: readonly unknown[] | null } | null>({
      type: ['object', 'null'],
      properties: {
        profiles: {
          type: ['array', 'null'],
          items: { type: 'object' },
          maxItems: 0,
          description: 'null: recordings hold the renditions that were live, and nothing is encoded again.',
        },
      },
      additionalProperties: false,
      description: 'null or {}: recordings hold the renditions that were live, and nothing is encoded again.',
    }),
  ),
  creatorId: creatorIdField,
  userTags: Type.Optional(
    Type.Unsafe<UserTags>({
      type: 'object',
      description: 'an object of text, numbers and lists of those, of at most 2048 characters as JSON.',
    }),
  ),
  multistream: Type.Optional(
    Type.Object(
      {
        targets: Type.Optional(
          Type.Array(Type.Unknown(), {
            maxItems: 0,
            description: 'an empty list: multistream targets are not supported yet.',
          }),
        ),
      },
      { additionalProperties: false, description: 'an object with an empty list of targets, or leave it out.' },
    ),
  ),
  playbackPolicy: playbackPolicyField,
};
