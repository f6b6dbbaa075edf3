/**
 * The addresses to publish to and to play from.
 */
import { Type } from '#lib/schema.ts';

/** The addresses to publish to and to play from. */
export const IngestSchema = Type.Object(
  {
    ingest: Type.String({
      format: 'uri',
      description: 'The URL to publish to, followed by a slash and the stream key.',
    }),
    playback: Type.String({
      format: 'uri',
      description: 'The URL to play from, followed by a slash, the playback id and `/index.m3u8`.',
    }),
    base: Type.String({ format: 'uri' }),
    origin: Type.String({ format: 'uri' }),
  },
  {
    $id: 'Ingest',
    examples: [
      {
        ingest: 'rtmp://live.example.com/live',
        playback: 'https://live.example.com/hls',
        base: 'https://live.example.com',
        origin: 'https://live.example.com',
      },
    ],
  },
);
