import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { newPlaybackId } from '#domain/ids.ts';
import { createHttp } from '#http/http.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { preparePages } from './pages.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The header that browsers send when somebody opens an address. */
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const KNOWN = newPlaybackId();

/** A server with all pages, and stand-ins for what they link to elsewhere. */
async function serverWithPages(t: TestContext, apiPrefix = '/api') {
  const pages = await preparePages({
    apiPrefix,
    find: async (id) => (id === KNOWN ? { publicName: undefined } : undefined),
    framedBy: async () => '*',
  });
  const http = createHttp({
    settings: { maxConnections: 10, trustedProxies: [], publicUrl: undefined },
    logger: createLogger('fatal'),
    metrics: createMetrics(),
    errorPage: pages.errorPage,
  });
  for (const path of [`${apiPrefix}/openapi.json`, `${apiPrefix}/stream`, '/dashboard']) http.get(path, () => 'x');
  await http.register(pages.routes);
  t.after(() => http.close());
  return http;
}

/** The links of a page to this server, and the files it loads, as absolute paths with their anchors. */
const linksOf = (html: string, path: string): readonly string[] =>
  [...html.matchAll(/\s(?:href|src|action|data-index)="([^"]+)"/g)]
    .map((match) => new URL(match[1]!, `http://millrace${path}`))
    .filter(({ host }) => host === 'millrace')
    .map(({ pathname, hash }) => pathname + hash);

test('a page loads from its own server only, runs nothing inline, cannot be framed, and is sent again only when it has changed', async (t) => {
  const http = await serverWithPages(t);
  for (const url of ['/', '/play', '/docs', '/docs/operations', '/nothing', '/api/docs']) {
    const { headers, body } = await http.inject({ url, headers: BROWSER });
    assert.equal(headers['content-type'], 'text/html; charset=utf-8', url);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'.* frame-ancestors 'none'$/);
    // Swagger UI sets styles at run time.
    assert.doesNotMatch(policy, url === '/api/docs' ? /unsafe-(?!inline)|https?:/ : /unsafe|https?:/);
    assert.doesNotMatch(body, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|\ssrc="https?:/);
    assert.match(body, /<title>(?:.* · )?Millrace<\/title>/);
    if (url === '/nothing') continue;
    const known = { ...BROWSER, 'if-none-match': String(headers.etag) };
    assert.equal((await http.inject({ url, headers: known })).statusCode, 304, url);
    const zipped = await http.inject({ url, headers: { ...BROWSER, 'accept-encoding': 'gzip' } });
    assert.equal(gunzipSync(zipped.rawPayload).toString(), body);
  }
});

test('a browser gets a page for a mistyped address, a program gets JSON, and paths of the API and of media only JSON', async (t) => {
  const http = await serverWithPages(t);
  const types = async (url: string) => {
    const page = await http.inject({ url, headers: BROWSER });
    const json = await http.inject({ url, headers: { accept: '*/*' } });
    assert.equal(page.statusCode, json.statusCode, url);
    assert.equal(json.json().code, 'not_found', url);
    return [page, json].map(({ headers }) => String(headers['content-type']).split(';')[0]);
  };
  for (const url of [
    '/nothing',
    '/play/x',
    `/play/${newPlaybackId()}`,
    '/docs/nothing',
    '/assets/x/site.css',
    '/play/a/b',
  ]) {
    assert.deepEqual(await types(url), ['text/html', 'application/json'], url);
  }
  for (const url of ['/api/nothing', '/hls/x/index.m3u8', '/healthz/x']) {
    assert.deepEqual(await types(url), ['application/json', 'application/json'], url);
  }
  const { body } = await http.inject({ url: '/play/x', headers: BROWSER });
  assert.match(body, /<h1>There is no such stream<\/h1>/);
  const deep = await http.inject({ url: `/${'/'.repeat(5000)}x`, headers: BROWSER });
  assert.ok(deep.body.length < 3000, 'a deep path makes no long page');
  const framed = await http.inject({ url: '/play/x?embed', headers: BROWSER });
  assert.match(String(framed.headers['content-security-policy']), /frame-ancestors \*$/);
  const strange = await http.inject({ url: '/%3Cscript%3E?<script>alert(1)</script>', headers: BROWSER });
  assert.doesNotMatch(strange.body, /<script/);
});

test('a browser that opens the path of the API is sent to its reference, and a program gets 404', async (t) => {
  const http = await serverWithPages(t, '/of/api');
  for (const url of ['/of/api', '/of/api/', '/of/api?a=1']) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, headers } = await http.inject({ method, url, headers: BROWSER });
      assert.equal(statusCode, 302, url);
      const { pathname } = new URL(String(headers.location), `http://millrace${url}`);
      assert.equal(pathname, '/of/api/docs');
      assert.equal((await http.inject({ url: pathname, headers: BROWSER })).statusCode, 200);
      assert.doesNotMatch(String(headers.location), /^[/h]/, 'a proxy may put the server under a path of its own');
    }
    for (const [method, accept] of [
      ['GET', '*/*'],
      ['GET', 'application/json'],
      ['POST', BROWSER.accept],
    ] as const) {
      const { statusCode, body } = await http.inject({ method, url, headers: { accept } });
      assert.deepEqual([statusCode, JSON.parse(body).code], [404, 'not_found'], `${method} ${url}`);
    }
  }
});

test('the page that errors of the API refer to exists, with its section', async (t) => {
  const http = await serverWithPages(t);
  const { statusCode, body } = await http.inject('/docs/streams-and-sessions');
  assert.equal(statusCode, 200);
  assert.match(body, / id="with-the-livepeer-client"/);
});

test('with the API at the root, only the paths of pages answer errors as pages', async (t) => {
  const http = await serverWithPages(t, '');
  const typeOf = async (url: string) => String((await http.inject({ url, headers: BROWSER })).headers['content-type']);
  for (const url of ['/play/x', '/docs/nothing', '/']) assert.match(await typeOf(url), /^text\/html/, url);
  for (const url of ['/nothing', '/stream/x']) assert.match(await typeOf(url), /^application\/json/, url);
  assert.equal((await http.inject('/reference')).statusCode, 200);
});

test('the form leads to the player page of a stream, and an address with a slash at the end to the one without', async (t) => {
  const http = await serverWithPages(t);
  for (const [url, location] of [
    [`/play?id=${KNOWN}`, `play/${KNOWN}`],
    ['/play?id=%20a%2Fb%3F%20', 'play/a%2Fb%3F'],
    ['/docs/', '../docs'],
    ['/docs/reference/errors/?a=1', '../errors?a=1'],
    [`/play/${KNOWN}/`, `../${KNOWN}`],
  ] as const) {
    const { statusCode, headers } = await http.inject({ url, headers: BROWSER });
    assert.ok(statusCode === 303 || statusCode === 308, url);
    assert.equal(headers.location, location);
  }
  assert.equal((await http.inject(`/play/${KNOWN}`)).statusCode, 200);
});

test('every link of every page leads to something, anchors included, and every file of the documentation is a page', async (t) => {
  const http = await serverWithPages(t);
  const bodies = new Map<string, string>();
  const from = new Map([['/', 'the start']]);
  const waiting = ['/'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const { statusCode, body, headers } = await http.inject({ url: path, headers: BROWSER });
    assert.equal(statusCode, 200, `${path}, from ${from.get(path)}`);
    bodies.set(path, body);
    if (!String(headers['content-type']).startsWith('text/html')) continue;
    for (const link of linksOf(body, path)) {
      const [target = ''] = link.split('#');
      if (from.has(target)) continue;
      from.set(target, path);
      waiting.push(target);
    }
  }
  const anchors = [...bodies]
    .filter(([, body]) => body.startsWith('<!doctype html>'))
    .flatMap(([path, body]) => linksOf(body, path).map((link) => [path, link] as const));
  const index: [string, string, string, string][] = JSON.parse(bodies.get('/docs/search.json')!);
  for (const [path, link] of [...anchors, ...index.map(([address]) => ['the search', `/${address}`] as const)]) {
    const [target = '', anchor] = link.split('#');
    const body = bodies.get(target);
    assert.ok(body !== undefined, `${path}: ${link}`);
    if (anchor !== undefined) assert.ok(body.includes(` id="${decodeURIComponent(anchor)}"`), `${path}: ${link}`);
  }
  const files = globSync('docs/**/*.md', { cwd: ROOT });
  const pages = [...bodies.keys()].filter((path) => path.startsWith('/docs/') && !/\.\w+$/.test(path));
  assert.equal(pages.length, files.length + 3, 'besides them: the introduction, security, the changes');
  assert.ok(bodies.has('/docs/images/player.png'));
  for (const path of pages)
    assert.ok(
      index.some(([address]) => `/${address}`.startsWith(path)),
      `${path} can be searched`,
    );
});
