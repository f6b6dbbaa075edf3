/**
 * `GET /data/views/query/total/<playbackId>` and `GET /data/views/query`, in the form of the reference service.
 */
import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { streamByPlaybackId } from '#api/find-stream.ts';
import { documentedOnly, type RawQuery, readText } from '#api/query.ts';
import { readSpan, SPAN_OF_HOURS_QUERY, TIME_STEPS } from '#api/read-time.ts';
import { answers } from '#api/schemas/answers.ts';
import { ADMIN_QUERY, SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { PLAYBACK_ID } from '#api/schemas/sample-ids.ts';
import { TotalViewsSchema, ViewershipMetricSchema } from '#api/schemas/usage.ts';
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import { NO_USAGE, type UsageSum } from '#domain/usage.ts';
import { Type } from '#lib/schema.ts';
import { ms } from '#lib/units.ts';
import { lastDays, minutes, readOneOf, wholeHours } from './get-usage.ts';

/** The largest number of entries in an answer. */
const MAX_ENTRIES = 10_000;
/** The length of a span that contains all times. */
const ALL_TIME_MS = Number.MAX_SAFE_INTEGER;

const totalSchema = {
  operationId: 'getPublicViewership',
  summary: 'Count all views of a stream',
  description: 'Views of recordings and clips are views of their stream. Numbers are up to a minute old.',
  tags: ['viewers'],
  security: [{ apiKey: [] }],
  params: Type.Object({
    playbackId: Type.String({ description: 'The `playbackId` of one of your streams.', examples: [PLAYBACK_ID] }),
  }),
  querystring: SCOPE_QUERY,
  response: answers(200, ref(TotalViewsSchema), 404),
};

/** Answers with all views of one of the caller's streams. */
export const getTotalViews: ApiRoute = (api, { authenticate, store }) => {
  api.get('/data/views/query/total/:playbackId', { schema: totalSchema, onRequest: authenticate }, async (request) => {
    const stream = await streamByPlaybackId({ store }, request.params.playbackId, request.caller);
    if (!stream) throw noSuchStream();
    const { id: streamId, playbackId, userId } = stream;
    const [sum] = await store.usage.sum(userId, {
      from: ms(0),
      to: ms(ALL_TIME_MS),
      stepMs: ALL_TIME_MS,
      streamId,
      limit: 1,
    });
    const { views, watchedMs } = sum?.counts ?? NO_USAGE;
    return { playbackId, viewCount: views, playtimeMins: minutes(watchedMs) };
  });
};

const schema = {
  operationId: 'getViewership',
  summary: 'Count views over time',
  description:
    'Sums the views of all your streams, or of the one that `playbackId` names, and of their recordings and clips. Without `from`, it sums those of the last 30 days. Numbers are up to a minute old.',
  tags: ['viewers'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    ...SPAN_OF_HOURS_QUERY,
    playbackId: Type.Optional(
      Type.String({ description: 'Counts only views of this stream.', examples: [PLAYBACK_ID] }),
    ),
    timeStep: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: Object.keys(TIME_STEPS),
        description: 'Makes an entry for each span of this length, in UTC.',
      }),
    ),
    breakdownBy: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['playbackId'],
        description: 'Makes an entry for each playback id. It may also be sent as `breakdownBy[]`.',
      }),
    ),
    ...ADMIN_QUERY,
  }),
  response: answers(200, Type.Array(ref(ViewershipMetricSchema)), 404, 501),
};

/** Query parameters of the reference service that are not supported. */
const NOT_SUPPORTED = ['creatorId', 'assetId', 'streamId'];

/** Answers with the views of the caller's streams. */
export const getViews: ApiRoute = (api, { authenticate, store }) => {
  const options = { schema, onRequest: authenticate, validatorCompiler: documentedOnly };
  api.get('/data/views/query', options, async (request) => {
    const query = request.query as RawQuery;
    const isByPlaybackId = readBreakdown(query);
    const timeStep = readOneOf(query, 'timeStep', ['hour', 'day', 'week'] as const);
    const stream = await findStream();
    const { scope, at } = request.caller;
    const sums = await store.usage.sum(scope, {
      ...wholeHours(readSpan(query, lastDays(at))),
      stepMs: timeStep === undefined ? ALL_TIME_MS : TIME_STEPS[timeStep],
      ...(isByPlaybackId && { by: 'stream' }),
      ...(stream !== undefined && { streamId: stream.id }),
      limit: MAX_ENTRIES,
    });
    return sums.map((sum) => present(sum, stream?.playbackId, timeStep !== undefined));

    async function findStream(): Promise<Stream | undefined> {
      const asked = readText(query, 'playbackId');
      if (asked === undefined) return undefined;
      const found = await streamByPlaybackId({ store }, asked, request.caller);
      if (!found) throw noSuchStream();
      return found;
    }
  });
};

/** Whether views are wanted for each playback id. @throws {MillraceError} `not_implemented` for anything else */
function readBreakdown(query: RawQuery): boolean {
  const asked = [query.breakdownBy, query['breakdownBy[]']].flat().filter((value) => value !== undefined);
  if (asked.some((value) => value !== 'playbackId') || NOT_SUPPORTED.some((name) => Object.hasOwn(query, name))) {
    throw new MillraceError(
      'not_implemented',
      'Views are counted by playbackId and time only; leave out creatorId, assetId, streamId and other breakdowns.',
    );
  }
  return asked.length > 0;
}

function present(
  sum: UsageSum,
  playbackId: PlaybackId | undefined,
  hasTime: boolean,
): Static<typeof ViewershipMetricSchema> {
  const shown = sum.playbackId ?? playbackId;
  return {
    ...(shown !== undefined && { playbackId: shown }),
    ...(hasTime && { timestamp: sum.from }),
    viewCount: sum.counts.views,
    playtimeMins: minutes(sum.counts.watchedMs),
  };
}

const noSuchStream = (): MillraceError =>
  new MillraceError('not_found', 'You have no stream with this playback id; list yours with GET /stream.');
