import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitFor } from '../support/wait-for.ts';
import { dataFolder, LAUNCHER, serve } from './millrace.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Plain JavaScript without types. */
const { bundleOf } = (await import(join(ROOT, 'bin/bundle.js'))) as {
  readonly bundleOf: (main: string, cache: string) => Promise<string | undefined>;
};
const STACKS = new URL('./stacks-in-answers.ts', import.meta.url).href;

test('a server that runs from its bundle reads source maps for the stacks in its log, and for no others', async (t) => {
  const isBundled = () => bundleOf(join(ROOT, 'src/cli/main.ts'), join(ROOT, 'node_modules/.cache/millrace'));
  await waitFor(isBundled, { what: 'the bundle' });
  const command = [process.execPath, '--import', STACKS, LAUNCHER, 'serve'] as const;
  const { child, finished, http } = await serve(t, { command, settings: { DATA_DIR: await dataFolder(t) } });
  const answer = await fetch(`${http}/healthz?unseen`);
  const unseen = decodeURIComponent(answer.headers.get('x-stack') ?? '');
  assert.match(unseen, /\/bundle-\w+\//);
  assert.doesNotMatch(unseen, /\/node_modules\/fastify\//);
  assert.equal((await fetch(`${http}/healthz?thrown`)).status, 500);
  child.kill('SIGTERM');
  const line = (await finished).stdout.split('\n').find((each) => each.includes('an error for this test'));
  assert.match(line ?? '', /\/node_modules\/fastify\//);
  assert.doesNotMatch(line ?? '', /\/bundle-\w+\//);
});
