/**
 * Prepared files for browsers: pages, and the scripts, styles and images that pages load. They are made once and never change while the
 * server runs, so every file has an entity tag and is compressed only once.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { acceptsGzip } from './accept.ts';
import { hasAlready } from './entity-tag.ts';

/** Content types by file name extension. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
/** Types that are compressed already. */
const COMPRESSED = /^image\/(?!svg)/;

/** A file as it is served. */
export interface PreparedFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** The entity tag, a hash of the content. It is sent as a weak tag, because the compressed file has the same one. */
  readonly etag: string;
  /** Compresses the file on first use, to keep the start short. Undefined for a type that is compressed already. */
  readonly gzipped: () => Promise<Buffer> | undefined;
}

/** Files that pages load, served under a folder that is named by their version. */
export interface AssetFolder {
  /** Changes with every change of any file, so that caches may keep the files for ever. */
  readonly version: string;
  /** A file by its name; undefined when there is none. */
  readonly find: (name: string) => PreparedFile | Promise<PreparedFile> | undefined;
}

/** Whether files of this name can be served. */
export const isServable = (name: string): boolean => TYPES[extname(name)] !== undefined;

/** Prepares a file. @param name its extension decides the content type */
export function assetOf(name: string, content: string | Buffer): PreparedFile {
  const type = TYPES[extname(name)];
  if (type === undefined) throw new Error(`files such as ${name} have no content type`);
  const bytes = Buffer.from(content);
  let gzipped: Promise<Buffer> | undefined;
  return {
    type,
    bytes,
    etag: `"${hashOf([bytes])}"`,
    gzipped: () => {
      if (!COMPRESSED.test(type)) gzipped ??= promisify(gzip)(bytes, { level: 9 });
      return gzipped;
    },
  };
}

/** Reads the files of a folder. @param urls by the name that each file is served under */
export async function readAssets(urls: ReadonlyMap<string, URL>): Promise<AssetFolder> {
  return folderOf(
    new Map(await Promise.all([...urls].map(async ([name, url]) => [name, await readFile(url)] as const))),
  );
}

/** Prepares files. @param contents by the name that each file is served under */
export function folderOf(contents: ReadonlyMap<string, Buffer>): AssetFolder {
  const files = [...contents].map(([name, bytes]): [string, PreparedFile] => [name, assetOf(name, bytes)]);
  const known = new Map(files);
  return {
    version: hashOf(files.flatMap(([name, { bytes }]) => [`${name} ${bytes.length} `, bytes])),
    find: (name) => known.get(name),
  };
}

/**
 * Prepares a folder of large files that are seldom needed. Each file is read on first use.
 * @param version must change with any change of a file
 */
export function lazyAssets(version: string, urls: ReadonlyMap<string, URL>): AssetFolder {
  const known = new Map<string, Promise<PreparedFile>>();
  const read = async (name: string, url: URL) => assetOf(name, await readFile(url));
  return {
    version,
    find(name) {
      const url = urls.get(name);
      if (url === undefined) return undefined;
      const asset = known.get(name) ?? read(name, url);
      known.set(name, asset);
      asset.catch(() => known.delete(name)); // the next request reads it again
      return asset;
    },
  };
}

/** Serves a folder, which may be made later, under `<path>/<version>/<name>`. Caches may keep the answers for ever. */
export function serveAssets(
  app: FastifyInstance,
  path: string,
  folder: AssetFolder | (() => Promise<AssetFolder>),
): void {
  app.get<{ Params: { version: string; name: string } }>(`${path}/:version/:name`, async (request, reply) => {
    const { version, find } = typeof folder === 'function' ? await folder() : folder;
    const asset = request.params.version === version ? await find(request.params.name) : undefined;
    if (asset === undefined) throw new MillraceError('not_found', 'There is no such file; load the page again.');
    return await sendAsset(reply.header('cache-control', 'public, max-age=31536000, immutable'), asset);
  });
}

/**
 * Sends a prepared file, or 304 when the client has it already. Unless the route has set `cache-control`, caches must revalidate the file
 * at every use.
 */
export async function sendAsset(
  reply: FastifyReply,
  { type, bytes, etag, gzipped }: PreparedFile,
): Promise<FastifyReply> {
  const { 'accept-encoding': acceptEncoding, 'if-none-match': ifNoneMatch } = reply.request.headers;
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-cache');
  // Keeps what the route has put into `vary`.
  reply.headers({
    etag: `W/${etag}`,
    vary: [reply.getHeader('vary'), 'Accept-Encoding'].flat().filter(Boolean).join(', '),
  });
  if (hasAlready(ifNoneMatch, etag)) return reply.code(304).send();
  const zipped = acceptsGzip(acceptEncoding) ? await gzipped() : undefined;
  if (zipped !== undefined) reply.header('content-encoding', 'gzip');
  return reply.type(type).send(zipped ?? bytes);
}

function hashOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url').slice(0, 12);
}
