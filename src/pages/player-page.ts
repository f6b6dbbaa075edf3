/**
 * The player page, `/play/<playbackId>`: one constant page for every stream and recording, and the few files it loads. The token for a stream
 * that is not public is in the fragment of the address (`#jwt=...`), which browsers send to no server.
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
import { assetOf, isServable, readAssets, sendAsset, serveAssets } from '#http/assets.ts';

const PLAYER_FOLDER = new URL('../../web/player/', import.meta.url);
const PAGE = 'player.html';
const HLS_JS = 'hls.mjs';
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
   * Whether there is a stream or recording with this playback id, or a recorded session with this id. Waits for the store.
   * @param address the address of the viewer, for the limit of lookups
   */
  readonly isPlayable: (id: string, address: string) => Promise<boolean>;
  /** The origins whose pages may show this player in a frame, as sources of a `Content-Security-Policy`. Waits for the store. */
  readonly framedBy: (id: string, address: string) => Promise<string>;
}

/** Adds the page and its files, which are read once. A change on disk takes effect after a restart. */
export async function playerPageRoutes(
  app: FastifyInstance,
  { isPlayable, framedBy }: PlayerPageOptions,
): Promise<void> {
  const assets = await readAssets(await playerFiles());
  const html = await readFile(new URL(PAGE, PLAYER_FOLDER), 'utf8');
  const page = html.replaceAll('{version}', assets.version);
  const plain = assetOf(PAGE, page);
  const embedded = assetOf(PAGE, page.replace('<html ', '<html data-embed '));

  app.get<{ Params: { playbackId: string }; Querystring: { embed?: unknown } }>(
    '/play/:playbackId',
    async ({ params: { playbackId }, query, ip }, reply) => {
      if (!((isPlaybackId(playbackId) || isUuid(playbackId)) && (await isPlayable(playbackId, ip)))) {
        throw new MillraceError('not_found', 'No stream or recording has this playback id; check the address.');
      }
      const embed = query.embed !== undefined;
      reply.headers({
        'content-security-policy': `${POLICY}; frame-ancestors ${embed ? await framedBy(playbackId, ip) : "'self'"}`,
        // Without it, the requests of the player would name this page, and every list of allowed origins would have to contain this server.
        'referrer-policy': 'no-referrer',
      });
      return await sendAsset(reply, embed ? embedded : plain);
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

/** Every file of `web/player/` except the page, and hls.js. */
async function playerFiles(): Promise<ReadonlyMap<string, URL>> {
  const names = (await readdir(PLAYER_FOLDER)).filter((name) => isServable(name) && name !== PAGE).sort();
  const files = new Map(names.map((name) => [name, new URL(name, PLAYER_FOLDER)]));
  // The npm package has it beside the page. In a clone it is a dependency.
  if (!files.has(HLS_JS)) files.set(HLS_JS, pathToFileURL(resolve('hls.js/dist/hls.min.mjs')));
  return files;
}
