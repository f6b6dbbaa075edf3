/**
 * What the reference service has and Millrace does not support yet. It is answered with 501 and a sentence, so that no client takes
 * silence for success. The OpenAPI document leaves it out, because it describes what works.
 */
import type { ApiRoute } from '#api/api.ts';
import { MillraceError } from '#domain/errors.ts';

/** What is missing, with the paths it has in the reference service. A path ending in `/*` stands for all below it. */
export const NOT_IMPLEMENTED: Readonly<Record<string, readonly string[]>> = {
  'Multistream targets are': [
    '/multistream/target',
    '/multistream/target/*',
    '/stream/:id/create-multistream-target',
    '/stream/:id/multistream/:targetId',
  ],
  'Clips are': ['/clip', '/stream/:id/clips', '/session/:id/clips'],
  'Pull sources are': ['/stream/pull', '/stream/:id/start-pull'],
  'Assets are': ['/asset', '/asset/*'],
  'Tasks are': ['/task', '/task/*'],
  'Transcoding of files is': ['/transcode'],
  'Rooms are': ['/room', '/room/*'],
  'Object stores are': ['/object-store', '/object-store/*'],
  'Viewership over time is': ['/data/views/query', '/data/views/query/*'],
  'Usage data is': ['/data/usage/query'],
  // The client of the reference service puts its own /api in front of these.
  'Generating media is': ['/generate/*', '/api/generate/*'],
};

/** What works is listed there. Without a host, because an error must not repeat the `Host` header, where a client may put anything. */
const DOCS = '/docs/streams-and-sessions#with-the-livepeer-client';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Answers all of it with 501, once the API key is known to be right and before the body is read. */
export const notImplemented: ApiRoute = (api, { authenticate }) => {
  for (const [what, paths] of Object.entries(NOT_IMPLEMENTED)) {
    const refuse = (): Promise<never> =>
      Promise.reject(new MillraceError('not_implemented', `${what} not supported yet; see ${DOCS} on this server.`));
    for (const url of paths) {
      api.route({ method: METHODS, url, schema: { hide: true }, onRequest: [authenticate, refuse], handler: refuse });
    }
  }
};
