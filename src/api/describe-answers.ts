/**
 * What every operation with an API key has in common, for the document: the headers of its answers, and that a POST may be repeated.
 */
import type { FastifySchema } from 'fastify';
import { ErrorSchema } from './schemas/error.ts';
import { ref } from './schemas/ref.ts';

type Answers = Readonly<Record<string, object>>;

const RATE_LIMIT = {
  'RateLimit-Limit': { type: 'integer', description: 'Requests this API key may make in a minute.' },
  'RateLimit-Remaining': { type: 'integer', description: 'How many of them may follow at once.' },
  'RateLimit-Reset': { type: 'integer', description: 'Seconds until all of them have come back.' },
};
const RETRY_AFTER = { 'Retry-After': { type: 'integer', description: 'Seconds after which to try again.' } };
const REPLAYED = {
  'Idempotency-Replayed': { type: 'string', enum: ['true'], description: 'There when this answers a repeat.' },
};
const TWIN = {
  ...ref(ErrorSchema),
  description: 'Its twin with the same Idempotency-Key is still under way, or it contradicts what is there already.',
};

/** An operation as the document shows it; one without a lock stays as it is. */
export function describeAnswers(
  schema: FastifySchema & { readonly security?: unknown },
  method: string,
): FastifySchema {
  if (schema.security === undefined) return schema;
  const isPost = method === 'POST';
  const answers = { ...(isPost && { 409: TWIN }), ...(schema.response as Answers) };
  const described = Object.entries(answers).map(([status, answer]) => {
    const headers = {
      ...(status !== '401' && RATE_LIMIT),
      ...(/^(409|429|503)$/.test(status) && RETRY_AFTER),
      ...(isPost && status.startsWith('2') && REPLAYED),
    };
    return [status, Object.keys(headers).length > 0 ? { ...answer, headers } : answer];
  });
  return { ...schema, response: Object.fromEntries(described) };
}
