/**
 * What a client sends to create a stream.
 */
import { Type } from '#lib/schema.ts';
import { nameField, optionalStreamFields } from './stream-fields.ts';

/** Body of `POST /stream`. */
export const NewStreamSchema = Type.Object(
  { name: nameField, ...optionalStreamFields },
  {
    $id: 'NewStream',
    additionalProperties: false,
    examples: [
      { name: 'my first stream', profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }] },
      { name: 'only the source', profiles: [], creatorId: 'customer-17', userTags: { show: 'evening', season: 3 } },
    ],
  },
);
