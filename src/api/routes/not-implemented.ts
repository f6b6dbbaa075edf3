/**
 * What the reference service has and Millrace does not have yet: 501 with a sentence, so that no client takes silence for
 * success. Not in the OpenAPI document, which tells what works.
 */
import type { ApiRoute } from '#api/api.ts';
import { MillraceError } from '#domain/errors.ts';

/** Paths by what is missing. A path ending in `/*` stands for all below it. */
export const NOT_IMPLEMENTED: Readonly<Record<string, readonly string[]>> = {
  'Multistream targets are': [
    '/multistream/target',
    '/multistream/target/*',
    '/stream/:id/create-multistream-target',
    '/stream/:id/multistream/:targetId',
  ],
  'Webhooks are': ['/webhook', '/webhook/*'],
  'Playback policies and signing keys are': ['/access-control/*'],
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

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Answers all of it, once the API key is known to be right and before the body is read. */
export const notImplemented: ApiRoute = (api, { authenticate }) => {
  for (const [what, paths] of Object.entries(NOT_IMPLEMENTED)) {
    const refuse = (): Promise<never> =>
      Promise.reject(
        new MillraceError('not_implemented', `${what} not there yet; docs/7-streams-and-sessions.md tells what is.`),
      );
    for (const url of paths) {
      api.route({ method: METHODS, url, schema: { hide: true }, onRequest: [authenticate, refuse], handler: refuse });
    }
  }
};
