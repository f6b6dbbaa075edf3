/**
 * `GET /stream`.
 */
import { Type } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { readListOptions } from '#api/list-options.ts';
import { linkNext, sendCount } from '#api/page.ts';
import { presentChildStream, presentStream } from '#api/present-stream.ts';
import { documentedOnly, type Query, readFlag, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { ADMIN_QUERY, listQuery, STREAM_LIST_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';

const schema = {
  operationId: 'getStreams',
  summary: 'List streams',
  description:
    'Your streams, newest first. While there are more, the `Link` header holds the URL of the next page (`rel="next"`): follow it until there is none. A stream created or deleted meanwhile moves no other from one page to another.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...listQuery('stream'), ...STREAM_LIST_QUERY, ...ADMIN_QUERY }),
  response: answers(200, Type.Array(ref(StreamSchema))),
};

/** Lists streams, or sessions in their form, page by page. */
export const listStreams: ApiRoute = (api, context) => {
  const { authenticate, store, live } = context;
  const options = { schema, onRequest: authenticate, validatorCompiler: documentedOnly };
  api.get('/stream', options, async (request, reply) => {
    const query = request.query as Query;
    const { scope } = request.caller;
    const ofSessions = readFlag(query, 'sessionsonly') ?? false;
    if (ofSessions && readFlag(query, 'streamsonly')) {
      throw refused('sessionsonly', 'contradicts streamsonly; send one of them');
    }
    const list = readListOptions(query, ofSessions ? 'session' : 'stream');
    const page = ofSessions ? await store.sessions.list(scope, list) : await store.streams.list(scope, list);
    await sendCount(request, reply, () =>
      store[ofSessions ? 'sessions' : 'streams'].count(scope, list.filter, list.order),
    );
    linkNext(request, reply, context, { path: '/stream', list: list.list, next: page.next });
    return page.rows.map((row) =>
      'streamId' in row ? presentChildStream(row, live) : presentStream(row, request.caller, live),
    );
  });
};
