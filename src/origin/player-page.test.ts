import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type FastifyInstance, fastify } from 'fastify';
import { newPlaybackId } from '#domain/ids.ts';
import { playerPageRoutes } from './player-page.ts';

let app: FastifyInstance;
before(async () => {
  app = fastify();
  await app.register(playerPageRoutes);
});
const page = `/play/${newPlaybackId()}`;

/** The files a page names. */
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

test('only the page made for frames may be framed by other sites', async () => {
  const plain = await app.inject(page);
  const embed = await app.inject(`${page}?embed`);
  assert.match(String(plain.headers['content-security-policy']), /; frame-ancestors 'self'$/);
  assert.match(String(embed.headers['content-security-policy']), /; frame-ancestors \*$/);
  assert.match(embed.body, /<html data-embed /);
  assert.doesNotMatch(plain.body, /<html data-embed /);
  assert.notEqual(plain.headers.etag, embed.headers.etag);
});

test('the page is asked for anew and sent only when it changed; its files are kept for ever', async () => {
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

test('every module the page imports is there, of a type browsers run, and gzipped for who takes it', async () => {
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

test('a playback id of another shape has no page, another version of the files no answer', async () => {
  for (const url of [
    '/play/x',
    '/play/..%2f..%2fetc%2fpasswd',
    '/play/assets/old/player.js',
    '/play/assets/old/..%2f',
  ]) {
    assert.equal((await app.inject(url)).statusCode, 404, url);
  }
});
