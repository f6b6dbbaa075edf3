import assert from 'node:assert/strict';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ensureFirstKey, firstSignInLink, forgetFirstKeyOnUse } from '#cli/first-key.ts';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { dataFolder } from './millrace.ts';

/** A start on an empty store. */
async function firstStart(t: TestContext) {
  const dataDir = await dataFolder(t);
  const store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  t.after(() => store[Symbol.asyncDispose]());
  const shown: string[] = [];
  const options = { store, dataDir, clock: systemClock, logger: silentLogger, bootstrapKey: undefined };
  const terminal = { write: (text: string) => shown.push(text) };
  const isFirstKey = async (secret: string) => {
    const found = await store.apiKeys.byHash(new Secret(secret).hash());
    return found?.key.name === 'default' && found.user.name === 'admin' && found.user.isAdmin;
  };
  return { store, dataDir, file: join(dataDir, 'initial-api-key'), shown, options, terminal, isFirstKey };
}

test('on a terminal the first key is shown once and not written to a file', async (t) => {
  const { options, terminal, shown, file, isFirstKey } = await firstStart(t);
  await ensureFirstKey({ ...options, terminal });
  const secret = /millrace_[\w-]{43}/.exec(shown.join())?.[0];
  assert.ok(secret !== undefined && (await isFirstKey(secret)));
  await assert.rejects(stat(file), { code: 'ENOENT' });
  await ensureFirstKey({ ...options, terminal });
  assert.equal(shown.length, 1);
});

test('the first user and key are in the audit log as changes of the operator', async (t) => {
  const { options, terminal, store } = await firstStart(t);
  await ensureFirstKey({ ...options, terminal });
  await ensureFirstKey({ ...options, terminal });
  const { rows } = await store.audit.list({}, { limit: 10 });
  const [key] = await store.apiKeys.list();
  const told = Object.fromEntries(rows.map(({ action, resourceId, actor }) => [action, { resourceId, actor }]));
  assert.equal(rows.length, 2);
  assert.deepEqual(told, {
    'user.created': { resourceId: key?.userId, actor: undefined },
    'api_key.created': { resourceId: key?.id, actor: undefined },
  });
});

test('a start does not read the API keys, of which customers may have made and revoked very many', async (t) => {
  const { options, terminal, store, shown } = await firstStart(t);
  const list = () => Promise.reject(new Error('a start must not list the API keys'));
  const started = { ...options, terminal, store: { ...store, apiKeys: { ...store.apiKeys, list } } };
  const base = { publicUrl: undefined, port: 8080, isSecure: false };
  for (let start = 0; start < 2; start += 1) {
    await ensureFirstKey(started);
    await firstSignInLink({ ...started, base });
  }
  assert.equal(shown.length, 1);
});

test('a file left by a failed start is replaced by a new one, which is private even if the old one was not', async (t) => {
  const { options, file, isFirstKey } = await firstStart(t);
  await writeFile(file, 'left over');
  await chmod(file, 0o644);
  await ensureFirstKey({ ...options, terminal: undefined });
  assert.ok(await isFirstKey((await readFile(file, 'utf8')).trim()));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
});

test('a bootstrap key is neither shown nor written, and has no effect once there is a key', async (t) => {
  const { options, terminal, shown, file, store, isFirstKey } = await firstStart(t);
  const [first, second] = ['a'.repeat(32), 'b'.repeat(32)];
  await ensureFirstKey({ ...options, terminal, bootstrapKey: new Secret(first) });
  await ensureFirstKey({ ...options, terminal, bootstrapKey: new Secret(second) });
  assert.ok(await isFirstKey(first));
  assert.equal((await store.apiKeys.list()).length, 1);
  assert.deepEqual(shown, []);
  await assert.rejects(stat(file), { code: 'ENOENT' });
});

test('a key that another process created in the meantime leaves no file', async (t) => {
  const { options, file, store } = await firstStart(t);
  const overtaken = { ...store, apiKeys: { ...store.apiKeys, createFirst: () => Promise.resolve(false) } };
  await ensureFirstKey({ ...options, store: overtaken, terminal: undefined });
  await assert.rejects(stat(file), { code: 'ENOENT' });
});

test('a file that cannot be written leaves the store without a key, so that the next start tries again', async (t) => {
  const { options, store } = await firstStart(t);
  await assert.rejects(ensureFirstKey({ ...options, terminal: undefined, dataDir: '/nowhere' }), { code: 'ENOENT' });
  assert.deepEqual(await store.apiKeys.list(), []);
});

test('the file of a key that was used before the start, or that no longer exists, is removed at the start', async (t) => {
  const { options, file, store } = await firstStart(t);
  await ensureFirstKey({ ...options, terminal: undefined });
  await forgetFirstKeyOnUse(options);
  await stat(file);
  const [key] = await store.apiKeys.list();
  await store.apiKeys.seen(new Map([[key!.id, ms(1)]]));
  await forgetFirstKeyOnUse(options);
  await assert.rejects(stat(file), { code: 'ENOENT' });

  await writeFile(file, 'millrace_of-another-store\n');
  await forgetFirstKeyOnUse(options);
  await assert.rejects(stat(file), { code: 'ENOENT' });
});

test('a data folder loses the permissions of others, and one with other files is left as it is', async (t) => {
  const dataDir = await dataFolder(t);
  const modes = async (...names: string[]) => {
    const stats = await Promise.all(names.map((name) => stat(join(dataDir, name))));
    return stats.map(({ mode }) => (mode & 0o777).toString(8));
  };
  const open = () => openStore({ dataDir, exclusive: true, logger: silentLogger });
  await (await open())[Symbol.asyncDispose]();
  const secrets = ['initial-api-key', 'initial-sign-in-link', 'signing-key-66e2161c-7670-4d05-b71d-da2d6979556f'];
  for (const name of [...secrets, 'recordings-folder']) await writeFile(join(dataDir, name), 'secret', { mode: 0o644 });
  await chmod(dataDir, 0o755);
  await chmod(join(dataDir, 'millrace.db'), 0o644);
  await (await open())[Symbol.asyncDispose]();
  assert.deepEqual(await modes('.', 'millrace.db', ...secrets), ['700', '600', '600', '600', '600']);

  await chmod(dataDir, 0o755);
  await writeFile(join(dataDir, 'notes'), 'mine', { mode: 0o644 });
  await chmod(join(dataDir, 'millrace.db'), 0o644);
  await (await open())[Symbol.asyncDispose]();
  assert.deepEqual(await modes('.', 'millrace.db', 'notes'), ['755', '600', '644']);
});
