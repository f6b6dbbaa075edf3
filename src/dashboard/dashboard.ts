/**
 * The dashboard: one HTML page for every address below `/dashboard`, its files, and signing in. Everything that it shows and does goes
 * through the public API.
 */
import type { FastifyInstance } from 'fastify';
import { assetOf, type PreparedFile, sendAsset, serveAssets } from '#http/assets.ts';
import { DashboardBundle } from './bundle.ts';
import type { DashboardOptions } from './options.ts';
import { DASHBOARD_HEADERS, dashboardHtml } from './page.ts';
import { sessionRoutes } from './session-routes.ts';

/** The most slashes in the address of a page. For deeper addresses the page of this depth is sent. */
const MAX_DEPTH = 6;

/** Adds the routes of the dashboard. */
export async function dashboardPlugin(http: FastifyInstance, options: DashboardOptions): Promise<void> {
  const bundle = new DashboardBundle(options.logger);
  http.addHook('preClose', async () => bundle[Symbol.dispose]());
  // A failure is logged, and shown to whoever opens the dashboard.
  if (options.isAttended) http.addHook('onListen', async () => void bundle.files().catch(() => {}));

  const pages = new Map<string, PreparedFile>();
  /** The page for addresses of a depth. Its links are relative, so that a proxy may serve the server below another path. */
  const pageOf = (version: string, depth: number): PreparedFile => {
    const root = '../'.repeat(depth);
    const name = `${version} ${depth}`;
    const page =
      pages.get(name) ?? assetOf('page.html', dashboardHtml({ root, version, apiPrefix: options.apiPrefix.slice(1) }));
    pages.set(name, page);
    return page;
  };
  for (const path of ['/dashboard', '/dashboard/*']) {
    http.get(path, async (request, reply) => {
      const { pathname } = new URL(request.raw.url ?? '/', 'http://dashboard');
      const depth = Math.min(MAX_DEPTH, pathname.split('/').length - 2);
      const { version } = await bundle.files();
      return await sendAsset(reply.headers(DASHBOARD_HEADERS), pageOf(version, depth));
    });
  }
  serveAssets(http, '/dashboard/assets', () => bundle.files());
  await http.register(sessionRoutes, options);
}
