/**
 * `GET /session/<id>/samples`.
 */
import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { documentedOnly, type RawQuery, readText, refused } from '#api/query.ts';
import { readSpan, SPAN_QUERY } from '#api/read-time.ts';
import { answers } from '#api/schemas/answers.ts';
import { ADMIN_QUERY } from '#api/schemas/list-query.ts';
import { sessionIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { SamplesSchema } from '#api/schemas/sample.ts';
import { MillraceError } from '#domain/errors.ts';
import { type HealthSample, MAX_SAMPLED_RENDITIONS } from '#domain/health-sample.ts';
import { isUuid, type SessionId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { Type } from '#lib/schema.ts';
import { type Milliseconds, ms } from '#lib/units.ts';

/** The largest number of samples in an answer: a day of minutes. */
const MAX_SAMPLES = 1440;

const schema = {
  operationId: 'getSessionSamples',
  summary: 'Read the health of a session over time',
  description:
    'Samples of 5 seconds exist for the last 15 minutes of a session, and only at the server that it runs on. Samples of a minute are kept for as long as the session, and can be read within a minute after it. Without `step`, the answer has samples of 5 seconds if the server has them for this session, otherwise samples of a minute. An answer has at most 1440 samples; continue with `from` after the `time` of the last one.',
  tags: ['session'],
  security: [{ apiKey: [] }],
  params: sessionIdParams,
  querystring: Type.Object({
    ...SPAN_QUERY,
    step: Type.Optional(
      Type.Unsafe<string>({ type: 'string', enum: ['5', '60'], description: 'Seconds from one sample to the next.' }),
    ),
    ...ADMIN_QUERY,
  }),
  response: answers(200, ref(SamplesSchema), 404),
};

/** Answers with samples of a session of the caller. */
export const getSamples: ApiRoute = (api, { authenticate, store, live }) => {
  const options = { schema, onRequest: authenticate, validatorCompiler: documentedOnly };
  api.get('/session/:id/samples', options, async (request) => {
    const { id } = request.params as { readonly id: string };
    const { scope, at } = request.caller;
    const query = request.query as RawQuery;
    const session = isUuid(id) ? await store.sessions.get(id as SessionId, scope) : undefined;
    if (!session)
      throw new MillraceError('not_found', 'You have no session with this id; list yours with GET /session.');
    const span = readSpan(query, { from: session.createdAt, to: ms(Math.max(at, session.createdAt)) });
    const step = readStep(query);
    const inMemory = live.samples(session.id);
    const isShort = inMemory !== undefined && step !== 60;
    // Only complete minutes are stored, so that nothing is counted twice by a client that continues after the last one.
    const samples = isShort
      ? inMemory.filter((sample) => sample.at >= span.from && sample.at <= span.to).slice(0, MAX_SAMPLES)
      : await store.samples.list(session.id, { ...span, limit: MAX_SAMPLES });
    return present(session, isShort ? 5 : 60, samples);
  });
};

function readStep(query: RawQuery): 5 | 60 | undefined {
  const text = readText(query, 'step');
  if (text === undefined) return undefined;
  if (text === '5') return 5;
  if (text === '60') return 60;
  throw refused('step', 'must be 5 or 60');
}

function present(session: Session, step: number, samples: readonly HealthSample[]): Static<typeof SamplesSchema> {
  return {
    sessionId: session.id,
    step,
    renditions: session.profiles.slice(0, MAX_SAMPLED_RENDITIONS).map(({ name }) => name),
    samples: samples.map(presentSample),
  };
}

function presentSample(sample: HealthSample): Static<typeof SamplesSchema>['samples'][number] {
  const { at, durationMs, bitrateBps, keyframeIntervalS, lagMs, viewers, renditions } = sample;
  return {
    time: at satisfies Milliseconds,
    duration: rounded(durationMs / 1000, 3),
    bitrate: {
      min: Math.round(bitrateBps.min),
      mean: Math.round(bitrateBps.mean),
      max: Math.round(bitrateBps.max),
    },
    fps: rounded(sample.framesPerSecond, 2),
    longestGap: rounded(sample.longestGapS, 3),
    ...(keyframeIntervalS !== undefined && { keyframeInterval: rounded(keyframeIntervalS, 3) }),
    speed: rounded(sample.speed, 4),
    drift: rounded(sample.driftS, 3),
    ...(lagMs !== undefined && { lag: Math.round(lagMs) }),
    viewers,
    renditions: [...renditions],
  };
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
