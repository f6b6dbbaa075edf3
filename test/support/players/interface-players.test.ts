import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { bundleInterface, INTERFACE_PLAYERS } from './interface-players.ts';

const { version } = createRequire(import.meta.url)('hls.js/package.json') as { readonly version: string };

for (const name of INTERFACE_PLAYERS) {
  test(`${name} is bundled with the hls.js of this repository, once`, async () => {
    const bundle = await bundleInterface(name);
    assert.ok(/\bvar opener=/.test(bundle), 'the page finds the module');
    assert.equal(bundle.split(`"${version}"`).length - 1, 1);
  });
}
