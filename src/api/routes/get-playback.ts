/**
 * `GET /playback/<playbackId>`.
 */
import type { ApiRoute } from '#api/api.ts';
import { isPlaybackId } from '#api/id-forms.ts';
import { presentPlayback } from '#api/present-playback.ts';
import { answers } from '#api/schemas/answers.ts';
import { playbackIdParams } from '#api/schemas/params.ts';
import { PlaybackSchema } from '#api/schemas/playback.ts';
import { ref } from '#api/schemas/ref.ts';
import { MillraceError } from '#domain/errors.ts';

const schema = {
  operationId: 'getPlaybackInfo',
  summary: 'Find out how to play a stream',
  description:
    'Needs no API key. The HLS URL is the same while the stream is offline, so that a player can wait. A thumbnail is listed only while there is one.',
  tags: ['playback'],
  params: playbackIdParams,
  response: answers(200, ref(PlaybackSchema), 400, 404, 503),
};

/** Tells anybody how to play a stream that is not suspended. */
export const getPlayback: ApiRoute = (api, { store, live, publicUrl }) => {
  api.get('/playback/:playbackId', { schema }, async (request) => {
    const { playbackId } = request.params;
    const stream = isPlaybackId(playbackId) ? await store.streams.byPlaybackId(playbackId) : undefined;
    if (!stream || stream.suspended) {
      throw new MillraceError('not_found', 'There is nothing to play under that playback id; check it.');
    }
    return presentPlayback(stream, live, publicUrl(request));
  });
};
