/**
 * The OpenAPI 3.1 document, made from the schemas that check requests.
 */
import swagger from '@fastify/swagger';
import { fastify } from 'fastify';
import { makeRepeatable } from '#api/idempotency.ts';
import { routes } from '#api/routes.ts';
import { QUOTA_VALUE } from '#api/schemas/quotas.ts';
import { SCHEMAS } from '#api/schemas.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { describeAnswers } from './describe-answers.ts';

const INTRODUCTION = `Create a live stream, publish to it over RTMP, and watch it as low-latency HLS.

Send an API key with every call that shows a lock: \`authorization: Bearer <API_KEY>\`. An API key sees only the streams of its user, and its rules may limit it to some of these operations. The API key of an admin reaches the streams and sessions of another user with \`?userId=<id>\`, and those of all users with \`?all=1\`, on every operation that names or lists them.

Times are milliseconds since the Unix epoch. Bitrates are bits per second. A body with an unknown key is refused. Ignore keys of answers that you do not know: later versions may add some.

Every error has the same form: a sentence for people, and a code for programs. Another method on a known path is answered with 405, and the \`Allow\` header names the methods that the path takes.`;

/** The groups of operations, in the order of the page. Every operation is in one. */
const TAGS = [
  { name: 'stream', description: 'Streams: create, read, list, change and delete them, and end a broadcast.' },
  { name: 'asset', description: 'Recordings and clips: list, read, change and delete them, and make clips.' },
  { name: 'session', description: 'Sessions: each publish of a stream, with its numbers and its health.' },
  { name: 'viewers', description: 'How many people watch.' },
  { name: 'playback', description: 'How to play a stream. Anybody may ask.' },
  { name: 'event', description: 'Events: everything that happened to your streams, as a list and as it happens.' },
  {
    name: 'webhook',
    description: 'Webhooks: URLs that are told of events, what was sent to them, and what is still to be sent.',
  },
  { name: 'access-control', description: 'Signing keys, which sign the playback tokens of viewers.' },
  { name: 'ingest', description: 'Where to publish to. Anybody may ask.' },
  { name: 'api-token', description: 'API keys and the rules that limit them.' },
  { name: 'user', description: 'Users and their quotas.' },
  { name: 'admin', description: 'The servers: what is wrong with them, and which there are.' },
  { name: 'audit', description: 'The audit log: who changed what, and when.' },
];

/** The document as an object. Where the API is, is for the server to add. */
export async function openApiDocument(): Promise<object> {
  const api = fastify();
  await api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Millrace',
        version: '1',
        description: INTRODUCTION,
        contact: { name: 'The operator of this server' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      tags: TAGS,
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
      },
    },
    transform: ({ schema, url, route }) => ({ schema: schema && describeAnswers(schema, String(route.method)), url }),
    // Names components after their schemas instead of numbering them.
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, index) => (typeof $id === 'string' ? $id : `schema-${index}`),
    },
  });
  api.setValidatorCompiler(() => () => true);
  for (const schema of SCHEMAS) api.addSchema(schema);
  // Only what routes touch when they are added: nothing is asked of this API.
  const context = { store: { listen() {} }, metrics: createMetrics(), settings: {}, authenticate() {} } as never;
  makeRepeatable(api as never, context);
  for (const addRoute of routes) addRoute(api as never, context);
  await api.ready();
  return withCompleteDescriptions(api.swagger());
}

/** Copies a part of the document, with descriptions that stand alone. */
function withCompleteDescriptions<Part>(part: Part): Part {
  return JSON.parse(JSON.stringify(part), (key, value) =>
    key === 'description' && typeof value === 'string' ? standingAlone(value) : value,
  );
}

/**
 * Makes a description stand alone. Those of the fields of requests complete the "send ..." of an error, so they begin with a lower-case
 * letter, and those of quotas begin with what every quota has in common.
 */
function standingAlone(description: string): string {
  // "Send" is added where the description begins with a value, which must not be capitalized, or says "leave it out".
  if (/^(true|null|public|the text)\b|, or leave it out|; leave it out/.test(description)) return `Send ${description}`;
  const meaning = description.startsWith(QUOTA_VALUE) ? description.slice(QUOTA_VALUE.length).trimStart() : '';
  return meaning === '' ? capitalized(description) : `${meaning} ${capitalized(QUOTA_VALUE)}`;
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
