/**
 * Operations of the reference service that Millrace does not support yet. They are answered with 501 and an explanation, so that no client
 * takes them for working. They are not in the OpenAPI document, because it describes what works.
 */
import type { ApiRoute } from '#api/api.ts';
import { MillraceError } from '#domain/errors.ts';

/** What is not supported, with its paths in the reference service. A path that ends in `/*` stands for all paths below it. */
export const NOT_IMPLEMENTED: Readonly<Record<string, readonly string[]>> = {
  'Multistream targets are': [
    '/multistream/target',
    '/multistream/target/*',
    '/stream/:id/create-multistream-target',
    '/stream/:id/multistream/:targetId',
  ],
  'Pull sources are': ['/stream/pull', '/stream/:id/start-pull'],
  'Uploads of files are': ['/asset/request-upload', '/asset/upload/*'],
  'Transcoding of files is': ['/transcode'],
  'Rooms are': ['/room', '/room/*'],
  'Object stores are': ['/object-store', '/object-store/*'],
  'Viewership by creator is': ['/data/views/query/creator'],
  // The client of the reference service adds `/api` before these paths.
  'Generating media is': ['/generate/*', '/api/generate/*'],
};

/**
 * The page that lists what is supported. It has no host name, because an error must not repeat the `Host` header, which a client may set to
 * anything.
 */
const DOCS = '/docs/streams-and-sessions#with-the-livepeer-client';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Answers these paths with 501, after checking the API key and before reading the body. */
export const notImplemented: ApiRoute = (api, { authenticate }) => {
  for (const [what, paths] of Object.entries(NOT_IMPLEMENTED)) {
    const refuse = (): Promise<never> =>
      Promise.reject(new MillraceError('not_implemented', `${what} not supported yet; see ${DOCS} on this server.`));
    for (const url of paths) {
      api.route({ method: METHODS, url, schema: { hide: true }, onRequest: [authenticate, refuse], handler: refuse });
    }
  }
};
