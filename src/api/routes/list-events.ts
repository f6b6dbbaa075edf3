/**
 * `GET /event`.
 */

import type { ApiRoute } from '#api/api.ts';
import { EVENT_QUERY, readEventFilter, readNumber, readTimes } from '#api/event-query.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentEvent } from '#api/present-event.ts';
import { documentedOnly, type RawQuery, readText, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { EventSchema } from '#api/schemas/event.ts';
import { ADMIN_QUERY, PAGE_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { Type } from '#lib/schema.ts';
import { ms } from '#lib/units.ts';

const LIST = { desc: 'event', asc: 'event-oldest' } as const;

const time = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, description, examples: [1_795_175_107_399] }));

const schema = {
  operationId: 'listEvents',
  summary: 'List events',
  description:
    'Lists the events of your streams and webhooks, newest first, for as long as the operator keeps events. To continue where you stopped, send `order=createdAt-false` and, as `after`, the sequence number of the last event you have. No event is ever added before it.',
  tags: ['event'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    ...PAGE_QUERY,
    ...EVENT_QUERY,
    order: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['createdAt-true', 'createdAt-false'],
        default: 'createdAt-true',
        description: '`createdAt-true` lists the newest first. Events are always ordered by their `sequence`.',
      }),
    ),
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Lists only events that follow this sequence number in the order of the list.',
        examples: [4711],
      }),
    ),
    from: time(
      'Lists only events that were added to the list at this time or later, in milliseconds since the Unix epoch.',
    ),
    to: time(
      'Lists only events that were added to the list at this time or earlier, in milliseconds since the Unix epoch.',
    ),
    ...ADMIN_QUERY,
  }),
  response: answers(200, Type.Array(ref(EventSchema))),
};

/** Lists events. */
export const listEvents: ApiRoute = (api, context) => {
  const options = { schema, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/event', options, async (request, reply) => {
    const query = request.query as RawQuery;
    const { scope } = request.caller;
    const direction = readDirection(query);
    const { limit, after: page } = readPage(query, LIST[direction], ['order']);
    const after = page === undefined ? readNumber(query, 'after') : page.at;
    const filter = { ...readEventFilter(query, scope), ...readTimes(query) };
    const found = await context.store.events.list(scope, { limit: limit + 1, direction, after, filter });
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    const next = found.length > limit && last !== undefined ? { at: ms(last.sequence), id: last.id } : undefined;
    linkNext(request, reply, context, { path: '/event', list: LIST[direction], next });
    return rows.map(presentEvent);
  });
};

function readDirection(query: RawQuery): 'asc' | 'desc' {
  switch (readText(query, 'order')) {
    case undefined:
    case 'createdAt-true':
      return 'desc';
    case 'createdAt-false':
      return 'asc';
    default:
      throw refused('order', 'must be createdAt-true, the newest first, or createdAt-false');
  }
}
