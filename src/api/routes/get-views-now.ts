/**
 * `GET /data/views/now`.
 */

import type { ApiRoute } from '#api/api.ts';
import { streamByPlaybackId } from '#api/find-stream.ts';
import { documentedOnly, type RawQuery, readText, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { ADMIN_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { PLAYBACK_ID } from '#api/schemas/sample-ids.ts';
import { ViewershipSchema } from '#api/schemas/viewership.ts';
import { MillraceError } from '#domain/errors.ts';
import { Type } from '#lib/schema.ts';
import { BEAT_MS } from '#live/node-lease.ts';

const schema = {
  operationId: 'getRealtimeViewershipNow',
  summary: 'Count the viewers of a stream now',
  description: `Answers with a list of one entry. When another server has the stream, the number is up to ${BEAT_MS / 1000} seconds old.`,
  tags: ['viewers'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    playbackId: Type.String({ description: 'The `playbackId` of one of your streams.', examples: [PLAYBACK_ID] }),
    ...ADMIN_QUERY,
  }),
  response: answers(200, Type.Array(ref(ViewershipSchema)), 404, 501),
};

/** Query parameters of the reference service that are not supported. */
const NOT_SUPPORTED = ['creatorId', 'breakdownBy', 'breakdownBy[]'];

/** Answers the owner of a stream with its number of viewers. */
export const getViewsNow: ApiRoute = (api, { authenticate, store, live }) => {
  const options = { schema, onRequest: authenticate, validatorCompiler: documentedOnly };
  api.get('/data/views/now', options, async (request) => {
    const query = request.query as RawQuery;
    if (NOT_SUPPORTED.some((name) => Object.hasOwn(query, name))) {
      throw new MillraceError(
        'not_implemented',
        'Viewers are counted by playbackId only; leave out creatorId and breakdownBy.',
      );
    }
    const playbackId = readText(query, 'playbackId');
    if (playbackId === undefined) throw refused('playbackId', 'is missing; send the playbackId of one of your streams');
    const stream = await streamByPlaybackId({ store }, playbackId, request.caller);
    if (!stream) {
      throw new MillraceError('not_found', 'You have no stream with this playback id; list yours with GET /stream.');
    }
    const viewCount = live.status(stream.id)
      ? live.viewers(stream.playbackId)
      : ((await store.sessions.newest(stream.playbackId))?.session.viewers ?? 0);
    return [{ playbackId: stream.playbackId, viewCount, errorRate: 0 }];
  });
};
