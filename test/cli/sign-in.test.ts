import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensureFirstKey, firstSignInLink } from '#cli/first-key.ts';
import { newUserId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someReceipt, someUser } from '#test/support/sample-records.ts';
import { dataFolder, LAUNCHER, run, storeFolder } from './millrace.ts';

const NO_FULL_DISK = existsSync('/dev/full') ? false : 'this system has no /dev/full';
const BASE = { publicUrl: undefined, port: 8080, isSecure: false };

test('millrace sign-in prints a link of the user, which makes an older one invalid', async (t) => {
  const dataDir = await dataFolder(t);
  const settings = { DATA_DIR: dataDir, HTTP_PORT: '8123' };
  const open = () => openStore({ dataDir, exclusive: false, logger: silentLogger });
  await using created = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  await created.users.ensure(someUser({ id: newUserId(), name: 'admin' }));
  await created.users.create(someUser({ name: 'gone', suspended: true }), someReceipt());
  const links: string[] = [];
  for (const args of [['sign-in'], ['sign-in', '--user', 'admin']]) {
    const { code, stdout } = await run(args, { settings });
    assert.equal(code, 0);
    links.push(/^http:\/\/localhost:8123\/dashboard\/sign-in#([\w-]{43})\n$/.exec(stdout)?.[1] ?? '');
  }
  await using store = await open();
  const [older, newer] = links.map((secret) => new Secret(secret).hash());
  assert.equal(await store.browserSessions.link(older!), undefined);
  assert.ok((await store.browserSessions.link(newer!))!.expiresAt > Date.now());
  for (const name of ['nobody', 'gone', ''])
    assert.notEqual((await run(['sign-in', '--user', name], { settings })).code, 0);
});

test('the first link is shown on a terminal, otherwise it is in a file that only the server can read', async (t) => {
  const dataDir = await dataFolder(t);
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  await store.users.ensure(someUser({ name: 'admin' }));
  const common = { clock: systemClock, logger: silentLogger, bootstrapKey: undefined, base: BASE };
  const options = { ...common, store, dataDir };
  assert.equal(await firstSignInLink({ ...options, terminal: undefined }), '');
  const file = join(dataDir, 'initial-sign-in-link');
  assert.match(await readFile(file, 'utf8'), /^http:\/\/localhost:8080\/dashboard\/sign-in#[\w-]{43}\n$/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);

  await using other = await openStore({ dataDir: await dataFolder(t), exclusive: true, logger: silentLogger });
  await other.users.ensure(someUser({ name: 'admin' }));
  const atTerminal = { ...options, store: other, terminal: { write: () => true } };
  assert.match(await firstSignInLink(atTerminal), /http:\/\/localhost:8080\/dashboard\/sign-in#[\w-]{43}\n/);
  assert.equal(await firstSignInLink(atTerminal), '', 'there has been one');
});

test('there is no first link once a key was used, or when the operator chose the first key', async (t) => {
  const dataDir = await dataFolder(t);
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  const first = { store, clock: systemClock, dataDir, logger: silentLogger, terminal: { write: () => true } };
  await ensureFirstKey({ ...first, bootstrapKey: undefined });
  const link = (bootstrapKey?: Secret) => firstSignInLink({ ...first, bootstrapKey, base: BASE });
  assert.equal(await link(new Secret('a'.repeat(32))), '');
  const [key] = await store.apiKeys.list();
  await store.apiKeys.seen(new Map([[key!.id, ms(1)]]));
  assert.equal(await link(), '');
});

test('a link that cannot be written fails with a sentence', { skip: NO_FULL_DISK }, async (t) => {
  const settings = { DATA_DIR: await storeFolder(t) };
  await run(['users', 'create', 'ann'], { settings });
  const signIn = `"${process.execPath}" "${LAUNCHER}" sign-in --user ann > /dev/full`;
  const { code, stderr } = await run([], { settings, command: ['sh', '-c', signIn] });
  assert.equal(code, 1);
  assert.match(stderr, /^The link could not be written \(.*ENOSPC.*\); run the command again\.\n$/);
});
