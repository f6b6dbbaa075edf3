/**
 * The player page, `/play/<playbackId>`, and the few files it loads. It is the same for every stream and recording, except for its title:
 * the name of the stream or recording, if everybody may watch it. Programs that show a preview of a link run no scripts, so the title is
 * in the page. The token for a stream that is not public is in the fragment of the address (`#jwt=...`), which browsers send to no server.
 *
 * The files are served under a folder named by a hash of all of them, so that caches may keep them for ever and they can import one another
 * by relative paths. Caches revalidate the page itself, which is short, at every use.
 */
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { isPlaybackId, isUuid } from '#domain/ids.ts';
import { assetOf, isServable, type PreparedFile, readAssets, sendAsset, serveAssets } from '#http/assets.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import { escapeHtml } from './layout.ts';

const PLAYER_FOLDER = new URL('../../web/player/', import.meta.url);
const PAGE = 'player.html';
const HLS_JS = 'hls.mjs';
/** The title of a page without a name. */
const TITLE = /<title>[^<]*<\/title>/;
/** The largest number of prepared pages, each with its own title. When it is exceeded, the page requested longest ago is forgotten. */
const MAX_PAGES = 100;
const { resolve } = createRequire(import.meta.url);

/** hls.js feeds media source extensions from blob: URLs; the page loads nothing from anywhere else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** What {@link playerPageRoutes} needs. */
export interface PlayerPageOptions {
  /**
   * Finds the stream or recording with this playback id, or the recorded session with this id. Its name is undefined if strangers may not
   * know it. Waits for the store.
   * @param address the address of the viewer, for the limit of lookups
   */
  readonly find: (id: string, address: string) => Promise<{ readonly publicName: string | undefined } | undefined>;
  /** The origins whose pages may show this player in a frame, as sources of a `Content-Security-Policy`. Waits for the store. */
  readonly framedBy: (id: string, address: string) => Promise<string>;
}

/** Adds the page and its files, which are read once. A change on disk takes effect after a restart. */
export async function playerPageRoutes(app: FastifyInstance, { find, framedBy }: PlayerPageOptions): Promise<void> {
  const assets = await readAssets(await playerFiles());
  const html = await readFile(new URL(PAGE, PLAYER_FOLDER), 'utf8');
  const page = html.replaceAll('{version}', assets.version);
  const embedded = page.replace('<html ', '<html data-embed ');
  const pages = new BoundedMap<string, PreparedFile>(MAX_PAGES);
  const pageFor = (name: string | undefined, isEmbed: boolean): PreparedFile => {
    const key = JSON.stringify([isEmbed, name]);
    const prepared = pages.get(key) ?? assetOf(PAGE, named(isEmbed ? embedded : page, name));
    pages.set(key, prepared);
    return prepared;
  };

  app.get<{ Params: { playbackId: string }; Querystring: { embed?: unknown } }>(
    '/play/:playbackId',
    async ({ params: { playbackId }, query, ip }, reply) => {
      const isId = isPlaybackId(playbackId) || isUuid(playbackId);
      const found = isId ? await find(playbackId, ip) : undefined;
      if (found === undefined) {
        throw new MillraceError('not_found', 'No stream or recording has this playback id; check the address.');
      }
      const embed = query.embed !== undefined;
      reply.headers({
        'content-security-policy': `${POLICY}; frame-ancestors ${embed ? await framedBy(playbackId, ip) : "'self'"}`,
        // Without it, the requests of the player would name this page, and every list of allowed origins would have to contain this server.
        'referrer-policy': 'no-referrer',
      });
      return await sendAsset(reply, pageFor(found.publicName, embed));
    },
  );
  // A constant address for every page with the element. The imports of the module are relative to the address of the redirect.
  app.get('/play/element.js', (_request, reply) =>
    reply
      .headers({ 'cache-control': 'no-cache', 'access-control-allow-origin': '*' })
      .redirect(`assets/${assets.version}/element.js`, 307),
  );
  serveAssets(app, '/play/assets', assets);
}

/** The page with the name of a stream or recording as its title. */
function named(page: string, name: string | undefined): string {
  if (name === undefined) return page;
  return page.replace(TITLE, () => `<title>${escapeHtml(name)} · Millrace</title>`);
}

/** Every file of `web/player/` except the page, and hls.js. */
async function playerFiles(): Promise<ReadonlyMap<string, URL>> {
  const names = (await readdir(PLAYER_FOLDER)).filter((name) => isServable(name) && name !== PAGE).sort();
  const files = new Map(names.map((name) => [name, new URL(name, PLAYER_FOLDER)]));
  // The npm package has it beside the page. In a clone it is a dependency.
  if (!files.has(HLS_JS)) files.set(HLS_JS, pathToFileURL(resolve('hls.js/dist/hls.min.mjs')));
  return files;
}
