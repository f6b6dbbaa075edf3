/**
 * How to play a stream, to anybody who knows its playback id.
 */
import type { Static } from 'typebox';
import type { Stream } from '#domain/stream.ts';
import type { LiveDirectory } from '#live/live.ts';
import { storedHealth } from './present-health.ts';
import type { PlaybackSchema } from './schemas/playback.ts';

/** @param publicUrl origin of the URLs in it */
export function presentPlayback(stream: Stream, live: LiveDirectory, publicUrl: string): Static<typeof PlaybackSchema> {
  const isActive = live.status(stream.id)?.isActive ?? stream.isActive;
  const base = `${publicUrl}/hls/${stream.playbackId}`;
  const watchable = live.watch(stream.playbackId);
  const hasThumbnail =
    watchable === undefined ? storedHealth(stream.health)?.hasThumbnail : watchable.thumbnail !== undefined;
  return {
    type: 'live',
    meta: {
      live: isActive ? 1 : 0,
      // Clients of the reference service know this name only; the segments are fragmented MP4 all the same.
      source: [
        {
          hrn: 'HLS (TS)',
          type: 'html5/application/vnd.apple.mpegurl',
          url: `${base}/index.m3u8`,
        },
        ...(hasThumbnail ? [{ hrn: 'Thumbnail (JPEG)', type: 'image/jpeg', url: `${base}/thumbnail.jpg` }] : []),
      ],
    },
  };
}
