/**
 * `GET /playback/<playbackId>`.
 */

import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { answers } from '#api/schemas/answers.ts';
import { playbackIdParams } from '#api/schemas/params.ts';
import { PlaybackSchema } from '#api/schemas/playback.ts';
import { ref } from '#api/schemas/ref.ts';
import { MillraceError } from '#domain/errors.ts';
import { isPlaybackId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import type { LiveDirectory } from '#live/live.ts';

const schema = {
  operationId: 'getPlaybackInfo',
  summary: 'Find out how to play a stream',
  description:
    'Needs no API key. The HLS URL stays the same while the stream is offline, so that a player can wait for the stream. A thumbnail is listed only while there is one. The URLs are listed whatever the playback policy is; a viewer without the right to watch is refused when it asks for them.',
  tags: ['playback'],
  security: [],
  params: playbackIdParams,
  response: answers(200, ref(PlaybackSchema), 400, 404, 503),
};

/** Describes how to play a stream, unless it is suspended. Anybody may ask. */
export const getPlayback: ApiRoute = (api, { store, live, publicUrl }) => {
  api.get('/playback/:playbackId', { schema }, async (request) => {
    const { playbackId } = request.params;
    const stream = isPlaybackId(playbackId) ? await store.streams.byPlaybackId(playbackId) : undefined;
    if (!stream || stream.suspended) {
      throw new MillraceError('not_found', 'No stream can be played with this playback id; check it.');
    }
    return presentPlayback(stream, live, publicUrl(request));
  });
};

/** Describes how to play a stream. @param publicUrl the origin of the URLs in the description */
function presentPlayback(stream: Stream, live: LiveDirectory, publicUrl: string): Static<typeof PlaybackSchema> {
  const { playbackPolicy } = stream;
  const isActive = live.status(stream.id)?.isActive ?? stream.isActive;
  const base = `${publicUrl}/hls/${stream.playbackId}`;
  const watchable = live.watch(stream.playbackId);
  const hasThumbnail = watchable === undefined ? stream.health?.hasThumbnail : watchable.thumbnail !== undefined;
  return {
    type: 'live',
    meta: {
      // Only the type is shown. The other fields are for the owner.
      ...(playbackPolicy && { playbackPolicy: { type: playbackPolicy.type } }),
      live: isActive ? 1 : 0,
      // Clients of the reference service know only this name, although the segments are fragmented MP4.
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
