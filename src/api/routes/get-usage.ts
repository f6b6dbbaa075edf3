/**
 * `GET /data/usage` and, in the form of the reference service, `GET /data/usage/query`.
 */
import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { documentedOnly, type RawQuery, readText, refused } from '#api/query.ts';
import { readSpan, SPAN_OF_HOURS_QUERY, TIME_STEPS } from '#api/read-time.ts';
import { answers } from '#api/schemas/answers.ts';
import { ADMIN_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { UsageMetricSchema, UsageSumSchema } from '#api/schemas/usage.ts';
import { NO_USAGE, type UsageSum } from '#domain/usage.ts';
import { Type } from '#lib/schema.ts';
import { DAY_MS, MINUTE_MS, type Milliseconds, ms } from '#lib/units.ts';

/** The days up to now that an answer is about when the request has no `from`. */
const DEFAULT_DAYS = 30;
/** The largest number of entries in an answer. */
const MAX_ENTRIES = 10_000;

const BY = ['stream', 'user'] as const;

const schema = {
  operationId: 'getUsage',
  summary: 'Read what was used, as JSON or CSV',
  description:
    'Sums what your streams used in each span of time, the oldest span first. Without `from`, the answer is about the last 30 days. Spans without usage are left out. Numbers are up to a minute old. An answer has at most 10,000 entries; ask for a shorter time if it may have more. Usage is kept as long as ended sessions.',
  tags: ['viewers'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    ...SPAN_OF_HOURS_QUERY,
    step: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: Object.keys(TIME_STEPS),
        default: 'day',
        description: 'The span that each entry is about, in UTC. Weeks begin on Thursdays, as the Unix epoch did.',
      }),
    ),
    by: Type.Optional(
      Type.Unsafe<string>({ type: 'string', enum: BY, description: 'Makes an entry for each stream, or each user.' }),
    ),
    format: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['json', 'csv'],
        description:
          'The form of the answer. The default is CSV if the header `Accept` begins with `text/csv`, otherwise JSON.',
      }),
    ),
    ...ADMIN_QUERY,
  }),
  response: {
    ...answers(200, Type.Array(ref(UsageSumSchema))),
    200: {
      description: 'The usage.',
      content: {
        'application/json': { schema: Type.Array(ref(UsageSumSchema)) },
        'text/csv': { schema: Type.String() },
      },
    },
  },
};

/** Answers with usage. */
export const getUsage: ApiRoute = (api, { authenticate, store }) => {
  const options = { schema, onRequest: authenticate, validatorCompiler: documentedOnly };
  api.get('/data/usage', options, async (request, reply) => {
    const query = request.query as RawQuery;
    const { scope, at } = request.caller;
    const span = readSpan(query, lastDays(at));
    const stepMs = TIME_STEPS[readOneOf(query, 'step', ['hour', 'day', 'week'] as const) ?? 'day'];
    const by = readOneOf(query, 'by', BY);
    const format = readOneOf(query, 'format', ['json', 'csv'] as const) ?? formatOf(request.headers.accept);
    const sums = await store.usage.sum(scope, { ...wholeHours(span), stepMs, ...(by && { by }), limit: MAX_ENTRIES });
    const entries = sums.map(presentUsage);
    void reply.header('vary', 'Accept');
    if (format === 'json') return entries;
    void reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="usage.csv"');
    return reply.serializer((text: unknown) => String(text)).send(csvOf(entries));
  });
};

const metricSchema = {
  operationId: 'getUsageMetrics',
  summary: 'Read the sum of what was used',
  description:
    'Sums what all your streams used, in the form of the reference service. Without `from`, it sums the last 30 days.',
  tags: ['viewers'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...SPAN_OF_HOURS_QUERY, ...ADMIN_QUERY }),
  response: answers(200, ref(UsageMetricSchema)),
};

/** Answers with the sum of the caller's usage. */
export const getUsageMetrics: ApiRoute = (api, { authenticate, store }) => {
  const options = { schema: metricSchema, onRequest: authenticate, validatorCompiler: documentedOnly };
  api.get('/data/usage/query', options, async (request) => {
    const { scope, userId, at } = request.caller;
    const span = wholeHours(readSpan(request.query as RawQuery, lastDays(at)));
    // One span that contains all times.
    const [sum] = await store.usage.sum(scope, { ...span, stepMs: Number.MAX_SAFE_INTEGER, limit: 1 });
    const storedS = scope === 'everyone' ? undefined : await store.assets.secondsOf(scope);
    const { watchedMs, transcodedMs } = sum?.counts ?? NO_USAGE;
    return {
      UserID: scope === 'everyone' ? userId : scope,
      DeliveryUsageMins: minutes(watchedMs),
      TotalUsageMins: minutes(transcodedMs),
      ...(storedS !== undefined && { StorageUsageMins: minutes(storedS * 1000) }),
    };
  });
};

/** The last days up to now. */
export const lastDays = (now: Milliseconds) => ({ from: ms(Math.max(0, now - DEFAULT_DAYS * DAY_MS)), to: now });

/**
 * Extends a span to whole hours, at least one, because usage is counted by the hour. An hour that begins at the end of the span is not
 * part of it, so that spans that follow each other have no hour in common.
 */
export function wholeHours({ from, to }: { readonly from: Milliseconds; readonly to: Milliseconds }) {
  const { hour } = TIME_STEPS;
  const first = from - (from % hour);
  return { from: ms(first), to: ms(Math.max(first + hour, Math.ceil(to / hour) * hour)) };
}

/** Minutes to three decimals. */
export const minutes = (milliseconds: number): number => Number((milliseconds / MINUTE_MS).toFixed(3));

/** Reads a parameter that has one of these values, or is missing. @throws {MillraceError} `invalid_request` for any other value */
export function readOneOf<Value extends string>(
  query: RawQuery,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const value = values.find((each) => each === text);
  if (value === undefined) throw refused(name, `must be one of ${values.join(', ')}`);
  return value;
}

function presentUsage({ from, streamId, playbackId, userId, counts }: UsageSum): Static<typeof UsageSumSchema> {
  return {
    from,
    ...(streamId !== undefined && { streamId }),
    ...(playbackId !== undefined && { playbackId }),
    ...(userId !== undefined && { userId }),
    ingestMinutes: minutes(counts.ingestMs),
    ingestBytes: counts.ingestBytes,
    transcodedMinutes: minutes(counts.transcodedMs),
    transcodedBytes: counts.transcodedBytes,
    deliveredBytes: counts.deliveredBytes,
    views: counts.views,
    watchedMinutes: minutes(counts.watchedMs),
  };
}

/** The form that a client prefers. */
const formatOf = (accept: string | undefined): 'json' | 'csv' => (/^\s*text\/csv/.test(accept ?? '') ? 'csv' : 'json');

/** All columns, in the order of the schema. Values are ids and numbers, which need no quotes. */
function csvOf(entries: readonly Static<typeof UsageSumSchema>[]): string {
  const columns = Object.keys(UsageSumSchema.properties) as (keyof Static<typeof UsageSumSchema>)[];
  const lines = entries.map((entry) =>
    columns.map((column) => (column === 'from' ? new Date(entry.from).toISOString() : (entry[column] ?? ''))),
  );
  return [columns, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}
