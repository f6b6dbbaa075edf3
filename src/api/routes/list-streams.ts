/**
 * `GET /stream`.
 */
import type { preValidationHookHandler } from 'fastify';
import { Type } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { decodeCursor, encodeCursor } from '#api/cursor.ts';
import { presentStream } from '#api/present.ts';
import { answers } from '#api/schemas/answers.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';

const DEFAULT_LIMIT = 20;

const schema = {
  summary: 'List streams',
  description:
    'Your streams, newest first. While there are more, the `Link` header holds the URL of the next page (`rel="next"`).',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        default: DEFAULT_LIMIT,
        description: 'a whole number from 1 to 1000.',
      }),
    ),
    cursor: Type.Optional(Type.String({ description: 'what the Link header of the page before gave, once.' })),
  }),
  response: answers(200, Type.Array(ref(StreamSchema)), 400, 401, 429, 503),
};

/** A query holds text only, and nothing else here converts types. What is no plain number stays text and is refused. */
const readLimit: preValidationHookHandler = (request, _reply, done) => {
  const query = request.query as { limit?: unknown };
  if (typeof query.limit === 'string' && /^\d{1,9}$/.test(query.limit)) query.limit = Number(query.limit);
  done();
};

/** Lists the caller's streams, page by page; a stream created meanwhile moves none from one page to another. */
export const listStreams: ApiRoute = (api, { authenticate, store, live, publicUrl, settings }) => {
  api.get('/stream', { schema, onRequest: authenticate, preValidation: readLimit }, async (request, reply) => {
    const { limit = DEFAULT_LIMIT, cursor } = request.query;
    const page = await store.streams.list(request.caller.userId, {
      limit,
      ...(cursor !== undefined && { after: decodeCursor(cursor) }),
    });
    if (page.next) {
      const url = `${publicUrl(request)}${settings.prefix}/stream?limit=${limit}&cursor=${encodeCursor(page.next)}`;
      reply.header('link', `<${url}>; rel="next"`);
    }
    return page.rows.map((stream) => presentStream(stream, live));
  });
};
