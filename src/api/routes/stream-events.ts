/**
 * `GET /event/stream`.
 */
import type { FastifyRequest } from 'fastify';
import type { ApiRoute } from '#api/api.ts';
import { EVENT_QUERY, readEventFilter, readNumber } from '#api/event-query.ts';
import { EventReader, isReaderGone } from '#api/event-reader.ts';
import { EventTail } from '#api/event-tail.ts';
import { presentedKey } from '#api/presented-key.ts';
import { documentedOnly, type RawQuery } from '#api/query.ts';
import { failures } from '#api/schemas/answers.ts';
import { ADMIN_QUERY } from '#api/schemas/list-query.ts';
import { MillraceError } from '#domain/errors.ts';
import { PacedTurns } from '#lib/paced-turns.ts';
import { Type } from '#lib/schema.ts';

/** How often a comment line is sent to keep the connection alive. */
const BEAT_MS = 15_000;
/** How often the reader's credential is checked. While nothing has changed in the store, the check is answered from memory. */
const CHECK_MS = 1000;
/** The largest share of the time that readers of older events may take together: about 10,000 events a second. */
const CATCH_UP_SHARE = 0.15;

const schema = {
  operationId: 'streamEvents',
  summary: 'Read events live',
  description:
    'Sends each event when it happens, as a Server-Sent Event: `id` is the sequence number, `event` the type, and `data` the event as JSON. The answer continues until either side closes it. A reader that sends the header `Last-Event-ID` (or the query parameter `after`) first gets all events after that one. Without it, the reader gets only events that happen from now on. The answer begins with an `id` alone, so that a reader that is disconnected before its first event knows after which one to continue. A reader that is too slow is disconnected; it loses nothing if it reconnects with `Last-Event-ID`. A comment line is sent every 15 seconds.',
  tags: ['event'],
  security: [{ apiKey: [] }],
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        pattern: '^\\d{1,16}$',
        description: 'The `id` of the last event that the reader has.',
        examples: ['4711'],
      }),
    ),
  }),
  querystring: Type.Object({
    ...EVENT_QUERY,
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'The same as `Last-Event-ID`, which takes precedence over it.',
        examples: [4711],
      }),
    ),
    ...ADMIN_QUERY,
  }),
  response: {
    200: {
      description: 'The events, until either side closes the answer.',
      content: { 'text/event-stream': { schema: Type.String() } },
    },
    ...failures([403]),
  },
};

/** Sends events to a reader as they happen. */
export const streamEvents: ApiRoute = (api, { authenticate, findCredential, store, metrics, clock }) => {
  const tail = new EventTail(store);
  const turns = new PacedTurns({ share: CATCH_UP_SHARE, clock });
  metrics.eventStreams.observe({}, () => tail.count);
  api.addHook('preClose', (done) => {
    tail[Symbol.dispose]();
    done();
  });
  const options = { schema, onRequest: authenticate, validatorCompiler: documentedOnly, config: { held: true } };
  api.get('/event/stream', options, async (request, reply) => {
    const query = request.query as RawQuery;
    const { scope, quotas, userId } = request.caller;
    const filter = readEventFilter(query, scope);
    const after = lastEventId(request) ?? readNumber(query, 'after') ?? (await store.events.last());
    // Nothing may wait from here until the reader is added: requests that come together would all be within the quota.
    const atMost = quotas.eventStreams;
    if (atMost > 0 && tail.countOf(userId) >= atMost) {
      throw new MillraceError(
        'quota_exceeded',
        `You have ${atMost} event streams open at this server, which is your limit; close one first.`,
      );
    }
    const presented = presentedKey(request);
    reply.hijack();
    const output = reply.raw;
    // The departure of a reader that has left by now would never be noticed, because its event `close` was emitted before.
    if (isReaderGone(output)) return;
    output.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      // Without this header, nginx buffers the answer.
      'x-accel-buffering': 'no',
    });
    // The response to HEAD consists of its headers, which Node would send only when the response ends.
    if (request.method === 'HEAD') {
      output.end();
      return;
    }
    // A reader that is disconnected before its first event continues after this id.
    output.write(`id: ${after}\nretry: 1000\n\n`);

    const reader = new EventReader({ userId, scope, filter, after, store, turns, output });
    const reading = tail.add(reader);
    const beat = setInterval(() => reader.beat(), BEAT_MS);
    const check = setInterval(() => {
      Promise.resolve(findCredential(presented)).then(
        (found) => {
          if (found === undefined || found.user.suspended || found.user.id !== userId) output.end();
          // An admin who is demoted may no longer read the events of others.
          else if (scope !== userId && !found.user.isAdmin) output.end();
        },
        // While the store is down, no event can be read either, so the reader stays.
        () => {},
      );
    }, CHECK_MS);
    output.on('error', () => {});
    output.on('close', () => {
      clearInterval(beat);
      clearInterval(check);
      reading[Symbol.dispose]();
    });
    // The reader reconnects when the store is back.
    await tail
      .ready()
      .then(() => reader.catchUp())
      .catch(() => output.destroy());
  });
};

/** The last event that the reader has, as browsers send it. */
function lastEventId({ headers }: FastifyRequest): number | undefined {
  const text = headers['last-event-id'];
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
