/**
 * What the OpenAPI document says about every operation: its possible answers with their headers, and that a request which changes something
 * may be repeated.
 */
import type { FastifySchema } from 'fastify';
import { type ErrorStatus, failures } from '#api/schemas/answers.ts';
import { ErrorSchema } from '#api/schemas/error.ts';
import { ref } from '#api/schemas/ref.ts';

type Answers = Readonly<Record<string, object>>;

const RATE_LIMIT = {
  'RateLimit-Limit': { type: 'integer', description: 'The number of requests that this API key may make in a minute.' },
  'RateLimit-Remaining': { type: 'integer', description: 'The number of requests that may still be made now.' },
  'RateLimit-Reset': { type: 'integer', description: 'Seconds until the full number of requests is available again.' },
};
const RETRY_AFTER = {
  'Retry-After': { type: 'integer', description: 'The number of seconds to wait before the next attempt.' },
};
const REPLAYED = {
  'Idempotency-Replayed': {
    type: 'string',
    enum: ['true'],
    description: 'Present when the answer repeats that of an earlier request with the same `Idempotency-Key`.',
  },
};
const LINK = {
  Link: {
    type: 'string',
    description: 'The URL of the next page, as `<...>; rel="next"`. Absent on the last page.',
  },
};
const TOTAL_COUNT = {
  'X-Total-Count': {
    type: 'integer',
    description: 'The length of the whole list. Present when the query has `count`.',
  },
};
const SUCCESSES: Readonly<Record<string, string>> = { 200: 'The request succeeded.', 201: 'The object was created.' };
const TWIN = {
  ...ref(ErrorSchema),
  description:
    'The request conflicts with the present state, or an earlier request with the same `Idempotency-Key` has not been answered yet.',
};

/** Error statuses that every operation with an API key may answer with: those of the key, and of the query parameters that select users. */
const OF_KEYS: readonly ErrorStatus[] = [400, 401, 403, 429, 503];
/** Error statuses of every operation that may receive a body, whether it uses the body or not. */
const OF_BODIES: readonly ErrorStatus[] = [413, 415];

/** Whether an operation requires authentication. An empty list means that anybody may call it. */
const isNamed = (security: readonly object[] | undefined): boolean => security !== undefined && security.length > 0;

/** Adds the common answers and headers to the documentation of an operation. */
export function describeAnswers(
  schema: FastifySchema & { readonly security?: readonly object[] },
  method: string,
): FastifySchema {
  const needsKey = isNamed(schema.security);
  const isChange = needsKey && method !== 'GET' && method !== 'HEAD';
  const isRepeatable = schema.headers !== undefined;
  const { properties: query = {} } = (schema.querystring ?? {}) as { readonly properties?: object };
  const answers: Answers = {
    ...failures([500]),
    ...(needsKey && failures(OF_KEYS)),
    ...(needsKey && method !== 'GET' && failures(OF_BODIES)),
    ...(isChange && failures([422, 504])),
    ...(isRepeatable && { 409: TWIN }),
    ...(schema.response as Answers | undefined),
  };
  const described = Object.entries(answers).map(([status, answer]) => {
    const isSuccess = status.startsWith('2');
    const headers = {
      ...(needsKey && status !== '401' && RATE_LIMIT),
      ...(/^(409|429|503|504)$/.test(status) && RETRY_AFTER),
      ...(isSuccess && isRepeatable && REPLAYED),
      ...(isSuccess && 'cursor' in query && LINK),
      ...(isSuccess && 'count' in query && TOTAL_COUNT),
    };
    const hasHeaders = Object.keys(headers).length > 0;
    return [status, { description: SUCCESSES[status], ...answer, ...(hasHeaders && { headers }) }];
  });
  return { ...schema, response: Object.fromEntries(described) };
}
