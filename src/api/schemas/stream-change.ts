/**
 * What a client sends to change streams.
 */
import { Type } from '#lib/schema.ts';
import { STREAM_ID } from './sample-ids.ts';
import { nameField, optionalStreamFields } from './stream-fields.ts';

const suspended = Type.Boolean({ description: 'true to refuse publishers and viewers, false to accept them again.' });

/** Body of `PATCH /stream/<id>`. Fields that are left out stay as they are. */
export const StreamChangeSchema = Type.Object(
  { name: Type.Optional(nameField), suspended: Type.Optional(suspended), ...optionalStreamFields },
  {
    $id: 'StreamChange',
    additionalProperties: false,
    examples: [{ name: 'the evening show' }, { suspended: true, userTags: { season: 4 } }],
  },
);

/** Body of `PATCH /stream/<id>/suspended`. */
export const SuspendedSchema = Type.Object(
  { suspended },
  { $id: 'Suspended', additionalProperties: false, examples: [{ suspended: true }] },
);

/** Body of `PATCH /stream/<id>/record`. */
export const RecordSchema = Type.Object(
  {
    record: Type.Boolean({
      description: 'true to record sessions that begin from now on, false not to record them.',
    }),
  },
  { $id: 'Record', additionalProperties: false, examples: [{ record: true }] },
);

/** Body of `DELETE /stream`. */
export const StreamIdsSchema = Type.Object(
  {
    ids: Type.Array(Type.String({ maxLength: 36, description: 'the id of a stream.' }), {
      minItems: 1,
      maxItems: 1000,
      uniqueItems: true,
      description: 'a list of 1 to 1000 different ids of streams.',
    }),
  },
  {
    $id: 'StreamIds',
    additionalProperties: false,
    examples: [{ ids: [STREAM_ID, '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e13'] }],
  },
);
