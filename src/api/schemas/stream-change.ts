/**
 * What a client sends to change streams.
 */
import { Type } from 'typebox';
import { nameField, optionalStreamFields } from './stream-fields.ts';

const suspended = Type.Boolean({ description: 'true to refuse publishers and viewers, false to let them in again.' });

/** Body of `PATCH /stream/<id>`: what is left out stays. */
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
  { record: Type.Boolean({ description: 'true or false: whether its sessions are to be recorded.' }) },
  { $id: 'Record', additionalProperties: false, examples: [{ record: true }] },
);

/** Body of `DELETE /stream`. */
export const StreamIdsSchema = Type.Object(
  {
    ids: Type.Array(Type.String({ maxLength: 36 }), {
      minItems: 1,
      maxItems: 1000,
      uniqueItems: true,
      description: 'a list of 1 to 1000 ids of streams, none twice.',
    }),
  },
  {
    $id: 'StreamIds',
    additionalProperties: false,
    examples: [{ ids: ['66e2161c-7670-4d05-b71d-da2d6979556f', '0190d2f0-1f6e-7c3a-9a51-3c2f6a1b7e20'] }],
  },
);
