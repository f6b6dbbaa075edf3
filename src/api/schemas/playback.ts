/**
 * The description of how to play a stream.
 */

import { POLICY_TYPES } from '#domain/playback-policy.ts';
import { Type } from '#lib/schema.ts';
import { PLAYBACK_ID } from './sample-ids.ts';

/** The description of how to play a stream. */
export const PlaybackSchema = Type.Object(
  {
    type: Type.Literal('live', { type: 'string' }),
    meta: Type.Object({
      playbackPolicy: Type.Optional(
        Type.Object(
          { type: Type.Unsafe<(typeof POLICY_TYPES)[number]>({ type: 'string', enum: [...POLICY_TYPES] }) },
          {
            description:
              'What a viewer needs: a token for `jwt`, an access key for `webhook`. Absent while no policy is set.',
          },
        ),
      ),
      live: Type.Integer({ minimum: 0, maximum: 1, description: '1 while media is coming in, and 0 otherwise.' }),
      source: Type.Array(
        Type.Object({
          hrn: Type.String({ description: 'The kind of source, as text for people.' }),
          type: Type.String({ description: 'The media type, for players.' }),
          url: Type.String({ format: 'uri' }),
        }),
      ),
    }),
  },
  {
    $id: 'Playback',
    examples: [
      {
        type: 'live',
        meta: {
          live: 1,
          source: [
            {
              hrn: 'HLS (TS)',
              type: 'html5/application/vnd.apple.mpegurl',
              url: `https://live.example.com/hls/${PLAYBACK_ID}/index.m3u8`,
            },
            {
              hrn: 'Thumbnail (JPEG)',
              type: 'image/jpeg',
              url: `https://live.example.com/hls/${PLAYBACK_ID}/thumbnail.jpg`,
            },
          ],
        },
      },
    ],
  },
);
