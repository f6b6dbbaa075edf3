/**
 * The player page, `/play/<playbackId>`: one constant page for every stream, and the few files it loads.
 *
 * The files lie under a folder named by a hash over all of them: they can be kept for ever, and may name one another by
 * plain relative paths. The page itself is always asked for anew, and is short.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { acceptsGzip } from './content-coding.ts';
import { hasAlready } from './entity-tag.ts';
import { isPlaybackId } from './resource-name.ts';

const PLAYER_FOLDER = new URL('../../web/player/', import.meta.url);
const HLS_JS = new URL(import.meta.resolve('hls.js/dist/hls.min.mjs'));
const HTML_TYPE = 'text/html; charset=utf-8';
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

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

/** A file as it is served; compressed at its first request, since doing so at start-up would delay the server. */
interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: () => Promise<Buffer>;
}

/** Adds the page and its files. Reads them once; a change on disk shows after a restart. */
export async function playerPageRoutes(app: FastifyInstance): Promise<void> {
  const { html, assets } = await readPlayer();
  const version = versionOf(assets);
  const page = html.replaceAll('{version}', version);
  const embedPage = page.replace('<html ', '<html data-embed ');

  app.get<{ Params: { playbackId: string }; Querystring: { embed?: unknown } }>(
    '/play/:playbackId',
    async (request, reply) => {
      if (!isPlaybackId(request.params.playbackId)) throw new MillraceError('not_found', 'There is no such stream.');
      const embed = request.query.embed !== undefined;
      const etag = `"${version}${embed ? '-embed' : ''}"`;
      reply.headers({
        'content-security-policy': `${POLICY}; frame-ancestors ${embed ? '*' : "'self'"}`,
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
        etag,
      });
      if (hasAlready(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type(HTML_TYPE).send(embed ? embedPage : page);
    },
  );

  app.get<{ Params: { version: string; name: string } }>('/play/assets/:version/:name', async (request, reply) => {
    const asset = request.params.version === version ? assets.get(request.params.name) : undefined;
    if (asset === undefined) throw new MillraceError('not_found', 'There is no such file; load the page again.');
    const zipped = acceptsGzip(request.headers['accept-encoding']);
    reply.headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' });
    reply.header('x-content-type-options', 'nosniff').type(asset.type);
    return zipped ? reply.header('content-encoding', 'gzip').send(await asset.gzipped()) : reply.send(asset.bytes);
  });
}

/** The page's source, and its files by name: all of `web/player/`, and hls.js as `hls.mjs`. */
async function readPlayer(): Promise<{ html: string; assets: ReadonlyMap<string, Asset> }> {
  const names = (await readdir(PLAYER_FOLDER)).filter((name) => typeOf(name) !== undefined).sort();
  const files = names.map((name): [string, URL] => [name, new URL(name, PLAYER_FOLDER)]);
  files.push(['hls.mjs', HLS_JS]);
  const assets = await Promise.all(
    files.map(async ([name, url]): Promise<[string, Asset]> => [name, asset(name, await readFile(url))]),
  );
  return { html: await readFile(new URL('player.html', PLAYER_FOLDER), 'utf8'), assets: new Map(assets) };
}

function asset(name: string, bytes: Buffer): Asset {
  let gzipped: Promise<Buffer> | undefined;
  return {
    type: typeOf(name) ?? 'application/octet-stream',
    bytes,
    gzipped: () => {
      gzipped ??= promisify(gzip)(bytes, { level: 9 });
      return gzipped;
    },
  };
}

function typeOf(name: string): string | undefined {
  return TYPES[name.slice(name.lastIndexOf('.') + 1)];
}

function versionOf(assets: ReadonlyMap<string, Asset>): string {
  const hash = createHash('sha256');
  for (const [name, { bytes }] of assets) hash.update(`${name} ${bytes.length} `).update(bytes);
  return hash.digest('base64url').slice(0, 12);
}
