/**
 * The description of how to play a stream, recording or clip.
 */

import { POLICY_TYPES } from '#domain/playback-policy.ts';
import { Type } from '#lib/schema.ts';
import { PLAYBACK_ID } from './sample-ids.ts';

const RECORDING = `https://live.example.com/recordings/0k3n9v2x7b5m8q1d`;

/** The description of how to play a stream, recording or clip. */
export const PlaybackSchema = Type.Object(
  {
    type: Type.Unsafe<'live' | 'vod' | 'recording'>({
      type: 'string',
      enum: ['live', 'vod', 'recording'],
      description:
        '`live` for a stream, `recording` for the id of a session, `vod` for the playback id of a recording or clip.',
    }),
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
      live: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 1,
          description: '1 while media is coming in, and 0 otherwise. Absent for recordings and clips.',
        }),
      ),
      source: Type.Array(
        Type.Object({
          hrn: Type.String({ description: 'The kind of source, as text for people.' }),
          type: Type.String({ description: 'The media type, for players.' }),
          url: Type.String({ format: 'uri' }),
          size: Type.Optional(Type.Integer({ description: 'The approximate size of an MP4 in bytes.' })),
          width: Type.Optional(Type.Integer()),
          height: Type.Optional(Type.Integer()),
          bitrate: Type.Optional(Type.Integer({ description: 'Bits per second, measured.' })),
        }),
      ),
      dvrPlayback: Type.Optional(
        Type.Array(
          Type.Object({
            hrn: Type.Optional(Type.String()),
            type: Type.Optional(Type.String()),
            url: Type.Optional(Type.String({ format: 'uri' })),
            error: Type.Optional(Type.String()),
          }),
          {
            description:
              'With `recordings`: the recording of the running session, in which viewers can go back to its beginning, or why there is none.',
          },
        ),
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
      {
        type: 'vod',
        meta: {
          source: [
            { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: `${RECORDING}/index.m3u8` },
            {
              hrn: 'MP4',
              type: 'html5/video/mp4',
              url: `${RECORDING}/source.mp4`,
              size: 4_072_000,
              width: 1280,
              height: 720,
              bitrate: 2_714_667,
            },
            { hrn: 'Thumbnails', type: 'text/vtt', url: `${RECORDING}/storyboard.vtt` },
            { hrn: 'Thumbnail (JPEG)', type: 'image/jpeg', url: `${RECORDING}/poster.jpg` },
          ],
        },
      },
    ],
  },
);
