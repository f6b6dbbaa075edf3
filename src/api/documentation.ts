/**
 * The API's own documentation: OpenAPI 3.1 at `openapi.json` and a page to browse it at `docs`, made from the schemas that
 * check requests.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { ApiInstance } from './api.ts';
import { describeAnswers } from './describe-answers.ts';

const INTRODUCTION = `Create a live stream, publish to it over RTMP, watch it as low-latency HLS.

Send an API key with every call that shows a lock: \`authorization: Bearer <API_KEY>\`. A key sees the streams of its user only, and may be limited to some of these operations. An admin's reaches another user's streams and sessions with \`?userId=<id>\`, everybody's with \`?all=1\`, on every operation that names or lists them.
Times are milliseconds since the Unix epoch, bitrates bits per second. Unknown keys in a body are refused; ignore unknown keys in answers.
Every error has the same shape, with a sentence for people and a code for programs.`;

/** The page loads nothing from elsewhere. Its library sets styles at run time and draws inline pictures. */
const PAGE_CSP = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Register before the routes it is to describe. */
export async function addDocumentation(api: ApiInstance, { prefix }: { readonly prefix: string }): Promise<void> {
  await api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Millrace', version: '1', description: INTRODUCTION },
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
  await api.register(swaggerUi, {
    routePrefix: '/docs',
    indexPrefix: prefix,
    staticCSP: PAGE_CSP,
    theme: { title: 'Millrace API' },
    uiConfig: { docExpansion: 'list', persistAuthorization: false },
  });
  let document: string | undefined;
  api.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(api.swagger());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}
