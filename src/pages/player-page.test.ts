import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type FastifyInstance, fastify } from 'fastify';
import { newPlaybackId } from '#domain/ids.ts';
import { playerPageRoutes } from './player-page.ts';

const UNKNOWN = newPlaybackId();
const RESTRICTED = newPlaybackId();
/** The names that everybody may know. */
const names = new Map<string, string>();
/** The addresses that ids were looked up for. */
const viewers: string[] = [];
let app: FastifyInstance;
before(async () => {
  app = fastify();
  await app.register(playerPageRoutes, {
    find: async (id, address) => {
      viewers.push(address);
      return id === UNKNOWN ? undefined : { publicName: names.get(id) };
    },
    framedBy: async (id) => (id === RESTRICTED ? "'self' https://example.com" : '*'),
  });
});
const page = `/play/${newPlaybackId()}`;

/** The files that a page loads. */
const filesOf = (html: string) => [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map((match) => match[1]!);

test('the page loads from its own server only, and runs nothing inline', async () => {
  const { statusCode, headers, body } = await app.inject(page);
  assert.equal(statusCode, 200);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|https?:|upgrade/);
  assert.doesNotMatch(body, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?:\/\//);
});

test('an id is looked up for the address of its viewer, whose lookups are limited', async () => {
  viewers.length = 0;
  await app.inject({ url: page, remoteAddress: '192.0.2.1' });
  assert.deepEqual(viewers, ['192.0.2.1']);
});

test('only the page made for frames may be framed by other sites', async () => {
  const plain = await app.inject(page);
  const embed = await app.inject(`${page}?embed`);
  assert.match(String(plain.headers['content-security-policy']), /; frame-ancestors 'self'$/);
  assert.match(String(embed.headers['content-security-policy']), /; frame-ancestors \*$/);
  const limited = await app.inject(`/play/${RESTRICTED}?embed`);
  assert.match(String(limited.headers['content-security-policy']), /; frame-ancestors 'self' https:\/\/example\.com$/);
  assert.match(embed.body, /<html data-embed /);
  assert.doesNotMatch(plain.body, /<html data-embed /);
  assert.notEqual(plain.headers.etag, embed.headers.etag);
});

test('the title is the name that everybody may know, and nothing in the name is taken for HTML', async () => {
  const id = newPlaybackId();
  const titleOf = (body: string) => /<title>(.*)<\/title>/.exec(body)?.[1];
  const unnamed = await app.inject(`/play/${id}`);
  assert.equal(titleOf(unnamed.body), 'Live stream · Millrace');
  names.set(id, '</title><script>1</script> $& "5"');
  for (const url of [`/play/${id}`, `/play/${id}?embed`]) {
    const { headers, body } = await app.inject(url);
    assert.equal(titleOf(body), '&#60;/title&#62;&#60;script&#62;1&#60;/script&#62; $&#38; &#34;5&#34; · Millrace');
    assert.equal(body.match(/<title>/g)?.length, 1);
    assert.equal(body.includes('data-embed'), url.endsWith('embed'));
    assert.notEqual(headers.etag, unnamed.headers.etag);
    const again = await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } });
    assert.equal(again.statusCode, 304);
  }
  names.delete(id);
  assert.equal((await app.inject(`/play/${id}`)).headers.etag, unnamed.headers.etag);
});

test('the page is sent again only when it has changed, and its files may be cached for ever', async () => {
  const { headers, body } = await app.inject(page);
  assert.equal(headers['cache-control'], 'no-cache');
  const again = await app.inject({ url: page, headers: { 'if-none-match': String(headers.etag) } });
  assert.equal(again.statusCode, 304);
  const files = filesOf(body);
  assert.ok(files.length >= 3);
  for (const file of files) {
    const response = await app.inject(`/play/${file}`);
    assert.equal(response.statusCode, 200, file);
    assert.equal(response.headers['cache-control'], 'public, max-age=31536000, immutable');
  }
});

test('every module that the page imports is served, of a type that browsers run, and gzipped for clients that accept it', async () => {
  const start = filesOf((await app.inject(page)).body).find((file) => file.endsWith('.js'))!;
  const seen = new Set<string>();
  const visit = async (file: string): Promise<void> => {
    if (seen.has(file)) return;
    seen.add(file);
    const response = await app.inject({ url: `/play/${file}`, headers: { 'accept-encoding': 'gzip' } });
    assert.equal(response.statusCode, 200, file);
    assert.equal(response.headers['content-type'], 'text/javascript; charset=utf-8', file);
    assert.equal(response.headers.vary, 'Accept-Encoding');
    const source = gunzipSync(response.rawPayload).toString();
    if (file.endsWith('/hls.mjs')) return;
    for (const [, name] of source.matchAll(/'\.\/([\w-]+\.m?js)'/g)) {
      await visit(`${file.slice(0, file.lastIndexOf('/'))}/${name}`);
    }
  };
  await visit(start);
  assert.ok(
    [...seen].some((file) => file.endsWith('/hls.mjs')),
    'hls.js is loaded',
  );
});

test('an unknown or malformed playback id has no page, and another version of the files is not found', async () => {
  for (const url of [
    `/play/${UNKNOWN}`,
    '/play/x',
    '/play/..%2f..%2fetc%2fpasswd',
    '/play/assets/old/player.js',
    '/play/assets/old/..%2f',
  ]) {
    assert.equal((await app.inject(url)).statusCode, 404, url);
  }
});
