/**
 * The pages for browsers: the landing page, the documentation, the player page, and errors.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { MillraceError } from '#domain/errors.ts';
import { prefersHtml } from '#http/accept.ts';
import { assetOf, type PreparedFile, readAssets, sendAsset, serveAssets } from '#http/assets.ts';
import type { ErrorPage } from '#http/error-reply.ts';
import { REFERENCE_POLICY, referenceContent, referencePath, swaggerUiAssets } from './api-reference.ts';
import { docsRoutes } from './docs.ts';
import { errorContent, errorTitle } from './error-page.ts';
import { landingContent, watchContent } from './landing-page.ts';
import { layout, PAGE_HEADERS, PAGE_POLICY, type PageContent, rootFrom } from './layout.ts';
import { type PlayerPageOptions, playerPageRoutes } from './player-page.ts';

const SITE_FOLDER = new URL('../../web/site/', import.meta.url);
const SITE_FILES: ReadonlyMap<string, URL> = new Map([
  ['site.css', new URL('site.css', SITE_FOLDER)],
  ['search.js', new URL('search.js', SITE_FOLDER)],
  ['reference.js', new URL('reference.js', SITE_FOLDER)],
  ['icon.svg', new URL('../../web/player/icon.svg', import.meta.url)],
]);

/** Headers of an error in place of an embedded player, which other sites may frame. */
const FRAMED_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': PAGE_POLICY.replace("frame-ancestors 'none'", 'frame-ancestors *'),
};

/** What {@link preparePages} needs. */
export interface PagesOptions extends PlayerPageOptions {
  /** The path of the API, such as `/api`; empty for the root. */
  readonly apiPrefix: string;
}

/** The pages of one server. */
export interface Pages {
  /** Adds every page. */
  readonly routes: (app: FastifyInstance) => Promise<void>;
  /**
   * Makes the page that a browser shows for an error. Returns undefined for programs, and for paths that only programs request. People who
   * open the path of the API itself are sent to its reference.
   */
  readonly errorPage: ErrorPage;
}

/** Prepares the pages: reads the few files they share. The documentation is read when it is first opened. */
export async function preparePages(options: PagesOptions): Promise<Pages> {
  const { apiPrefix } = options;
  const apiReference = referencePath(apiPrefix);
  const [site, swaggerUi] = await Promise.all([readAssets(SITE_FILES), swaggerUiAssets()]);
  const assets = `assets/${site.version}`;
  const render = (content: Omit<PageContent, 'assets'>): PreparedFile =>
    assetOf('page.html', layout({ ...content, assets }));
  const api = { reference: apiReference.slice(1), document: `${apiPrefix}/openapi.json`.slice(1) };
  const landing = render({ title: 'Millrace', root: '', body: landingContent(api) });
  const reference = render(referenceContent(apiPrefix, assets, `assets/reference/${swaggerUi.version}`));
  const watch = render({ title: 'Watch a stream', root: '', body: watchContent() });

  return {
    async routes(app) {
      // The links of a page are relative to its address without a slash at the end.
      app.addHook('onRequest', (request, reply, done) => {
        const [path = '', ...query] = (request.raw.url ?? '/').split('?');
        if (path === '/' || !path.endsWith('/')) return done();
        const name = path.split('/').at(-2)!;
        void reply.redirect([`../${name}`, ...query].join('?'), 308);
      });
      app.get('/', (_request, reply) => sendAsset(reply.headers(PAGE_HEADERS), landing));
      app.get<{ Querystring: { id?: unknown } }>('/play', (request, reply) => {
        const { id } = request.query;
        if (typeof id !== 'string') return sendAsset(reply.headers(PAGE_HEADERS), watch);
        return reply.redirect(`play/${encodeURIComponent(id.trim())}`, 303);
      });
      app.get(apiReference, (_request, reply) =>
        sendAsset(reply.headers({ ...PAGE_HEADERS, 'content-security-policy': REFERENCE_POLICY }), reference),
      );
      serveAssets(app, '/assets', site);
      serveAssets(app, '/assets/reference', swaggerUi);
      await app.register(docsRoutes, { render, apiReference });
      await app.register(playerPageRoutes, options);
    },

    errorPage(request: FastifyRequest, error: MillraceError) {
      const [path = '/', query = ''] = (request.raw.url ?? '/').split('?');
      if (!prefersHtml(request.headers.accept)) return undefined;
      const location = isRead(request) ? referenceBeside(path, apiPrefix) : undefined;
      if (location !== undefined) return { location };
      if (!isForPeople(path, apiPrefix)) return undefined;
      const isPlayer = /^\/play(?:\/|$)/.test(path);
      const root = rootFrom(path);
      const body = errorContent(error, { isPlayer, root, requestId: request.id });
      const html = layout({ title: errorTitle(error, isPlayer), root, assets, body });
      return { html, headers: isPlayer && /^embed\b/.test(query) ? FRAMED_HEADERS : PAGE_HEADERS };
    },
  };
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/** The address of the API reference relative to a path, if that is the path of the API itself, with or without a slash at its end. */
function referenceBeside(path: string, apiPrefix: string): string | undefined {
  if (apiPrefix === '' || path.replace(/\/$/, '') !== apiPrefix) return undefined;
  const name = path.endsWith('/') ? '' : `${apiPrefix.split('/').at(-1)}/`;
  return name + referencePath(apiPrefix).split('/').at(-1);
}

/** Whether people open a path in a browser. The paths of the API and of media are for programs only. */
function isForPeople(path: string, apiPrefix: string): boolean {
  if (apiPrefix === '') return /^\/(?:$|(?:play|docs)(?:\/|$))/.test(path);
  return ![apiPrefix, '/hls', '/recordings', '/healthz'].some((each) => path === each || path.startsWith(`${each}/`));
}
