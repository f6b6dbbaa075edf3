import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { dataFolder, LAUNCHER, serve } from './millrace.ts';

const NOTED_LOADS = new URL('./noted-loads.ts', import.meta.url).href;
const PAGES = [
  '/',
  '/nothing',
  '/docs',
  '/docs/concepts',
  '/docs/search.json',
  '/docs/nothing',
  '/play',
  '/play?id=abcdefghjkmnpqrs',
  '/play/abcdefghjkmnpqrs',
  '/play/element.js',
  '/dashboard',
  '/dashboard/streams/x',
  '/dashboard/session',
  '/hls/abcdefghjkmnpqrs/index.m3u8?jwt=a.b.c',
  '/hls/abcdefghjkmnpqrs/thumbnail.jpg',
  '/hls/abcdefghjkmnpqrs/recording.json',
  `/recordings/${randomUUID()}/index.m3u8`,
  `/recordings/${randomUUID()}/source.mp4`,
  '/assets/x/site.css',
  '/api/docs',
  '/api/openapi.json',
];

/** A server, and a function that ends it and returns what its main thread has loaded and compiled since it settled. */
async function settledServer(t: TestContext) {
  const command = [process.execPath, '--import', NOTED_LOADS, LAUNCHER, 'serve'] as const;
  const { child, finished, http } = await serve(t, { command, settings: { DATA_DIR: await dataFolder(t) } });
  await (await fetch(`${http}/healthz?settled`)).text();
  const noted = async () => {
    child.kill('SIGTERM');
    const line = (await finished).stdout.split('\n').find((each) => each.startsWith('{"noted":'));
    return (JSON.parse(line!) as { readonly noted: readonly string[] }).noted;
  };
  return { http, noted };
}

test('nothing that is asked without a key makes a server load or compile anything in its main thread', async (t) => {
  const { http, noted } = await settledServer(t);
  const document = (await (await fetch(`${http}/api/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  const asked: { readonly path: string; readonly method: string }[] = [
    ...PAGES.map((path) => ({ path, method: 'GET' })),
    { path: '/dashboard/session', method: 'POST' },
    ...Object.entries(document.paths).flatMap(([path, operations]) => {
      const filled = `/api${path}`.replaceAll(/\{\w+\}/g, () => randomUUID());
      return Object.keys(operations).map((method) => ({ path: filled, method: method.toUpperCase() }));
    }),
  ];
  assert.ok(asked.length > PAGES.length + 50, 'the document has no operations');
  for (const { path, method } of asked) {
    for (const accept of ['text/html', '*/*']) {
      const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
      const answer = await fetch(http + path, {
        method,
        headers: { accept, ...(hasBody && { 'content-type': 'application/json' }) },
        ...(hasBody && { body: '{}' }),
      });
      await answer.arrayBuffer();
      assert.ok(answer.status < 500, `${method} ${path}: ${answer.status}`);
    }
  }
  assert.deepEqual(await noted(), []);
});
