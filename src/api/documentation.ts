/**
 * The OpenAPI 3.1 document at `openapi.json`, made from the schemas that check requests.
 */
import swagger from '@fastify/swagger';
import { assetOf, sendAsset } from '#http/assets.ts';
import type { ApiInstance } from './api.ts';
import { describeAnswers } from './describe-answers.ts';

const INTRODUCTION = `Create a live stream, publish to it over RTMP, and watch it as low-latency HLS.

Send an API key with every call that shows a lock: \`authorization: Bearer <API_KEY>\`. An API key sees only the streams of its user, and its rules may limit it to some of these operations. The API key of an admin reaches the streams and sessions of another user with \`?userId=<id>\`, and those of all users with \`?all=1\`, on every operation that names or lists them.

Times are milliseconds since the Unix epoch. Bitrates are bits per second. A body with an unknown key is refused. Ignore keys of answers that you do not know: later versions may add some.

Every error has the same form: a sentence for people, and a code for programs. Another method on a known path is answered with 405, and the \`Allow\` header names the methods that the path takes.`;

/** The groups of operations, in the order of the page. Every operation is in one. */
const TAGS = [
  { name: 'stream', description: 'Streams: create, read, list, change and delete them, and end a broadcast.' },
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
  { name: 'audit', description: 'The audit log: who changed what, and when.' },
];

/** Adds the documentation. It must be registered before the routes that it describes. */
export async function addDocumentation(api: ApiInstance, { prefix }: { readonly prefix: string }): Promise<void> {
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
      servers: [{ url: prefix === '' ? '/' : prefix }],
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
      },
    },
    stripBasePath: true,
    transform: ({ schema, url, route }) => ({ schema: schema && describeAnswers(schema, String(route.method)), url }),
    // Names components after their schemas instead of numbering them.
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, index) => (typeof $id === 'string' ? $id : `schema-${index}`),
    },
  });
  const prepared = prepareOnce(() => assetOf('openapi.json', JSON.stringify(api.swagger())));
  // Making the document blocks the event loop for about 50 ms, so it is made before there is media.
  api.addHook('onListen', async () => void prepared().gzipped());
  api.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
    sendAsset(reply.header('cache-control', 'no-cache'), prepared()),
  );
}

function prepareOnce<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
