import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { Migrator } from 'kysely/migration';
import { newNodeId, newWebhookId } from '#domain/ids.ts';
import { secretsOf } from '#domain/webhook.ts';
import { ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someKey, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { kyselyOn } from './engines/sqlite/dialect.ts';
import { MIGRATIONS } from './migrations.ts';
import { openStore } from './open-store.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-store-'));
after(() => rmSync(root, { recursive: true }));

/** A function that inserts a row with a value for each column of a table. */
const insertingInto = (db: DatabaseSync) => (table: string, values: readonly (string | number | null)[]) =>
  db.prepare(`insert into ${table} values (${values.map(() => '?').join()})`).run(...values);

/** Makes the tables as they were after a migration. */
async function migrateTo(db: DatabaseSync, migration: string): Promise<void> {
  const provider = { getMigrations: async () => MIGRATIONS };
  const { error } = await new Migrator({ db: kyselyOn(db), provider }).migrateTo(migration);
  assert.equal(error, undefined);
}

it('keeps the data of a database of the first version', async () => {
  const dataDir = mkdtempSync(join(root, 'first-'));
  const [admin, user] = [someUser({ createdAt: 1 as never }), someUser({ createdAt: 2 as never })];
  const key = someKey(user);
  const stream = someStream(user.id, { name: 'Ärger' });
  const session = someSession(stream, { phase: 'live', nodeId: '' as never });
  {
    using db = new DatabaseSync(join(dataDir, 'millrace.db'));
    await migrateTo(db, '0001-users-keys-streams-sessions');
    const insert = insertingInto(db);
    for (const each of [user, admin]) insert('users', [each.id, each.name, each.createdAt]);
    insert('api_keys', [key.id, user.id, key.name, key.secretHash, key.createdAt, null]);
    const profiles = JSON.stringify(stream.profiles);
    const names = [stream.playbackId, stream.createdByTokenName, profiles];
    const keyAndHash = [stream.streamKey.reveal(), stream.streamKey.hash()];
    insert('streams', [stream.id, user.id, stream.name, stream.createdAt, ...keyAndHash, ...names, 0, 0, 0]);
    const ofStream = [
      session.id,
      stream.id,
      user.id,
      stream.playbackId,
      stream.name,
      stream.createdByTokenName,
      profiles,
    ];
    insert('sessions', [...ofStream, 'live', session.createdAt, 0, null, null, null, session.mediaPath, 0, '']);
  }

  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  assert.deepEqual(await store.users.get(admin.id), { ...admin, isAdmin: true });
  assert.deepEqual(await store.apiKeys.byHash(key.secretHash), { key, user });
  for (const found of [
    await store.streams.get(stream.id, user.id),
    await store.streams.byStreamKey(stream.streamKey),
  ]) {
    const { streamKey: _, ...rest } = found!;
    const { streamKey: __, ...expected } = stream;
    assert.deepEqual(rest, expected);
  }
  assert.deepEqual(await store.sessions.ofNode(newNodeId(), ['live']), [session]);
  const search = { limit: 5, order: 'createdAt', direction: 'desc', filter: { name: 'äRG' } } as const;
  for (const list of [store.streams, store.sessions]) {
    const { rows } = await list.list('everyone', search);
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['Ärger'],
    );
  }
});

it('deletes what a database has kept of revoked keys beyond the newest 100 of each user', async () => {
  const dataDir = mkdtempSync(join(root, 'revoked-'));
  const user = someUser();
  const valid = someKey(user, { access: { rules: [] } });
  {
    using db = new DatabaseSync(join(dataDir, 'millrace.db'));
    await migrateTo(db, '0009-health-samples-and-attempts');
    const insert = insertingInto(db);
    insert('users', [user.id, user.name, user.createdAt, 0, 0, '{}']);
    const rules = JSON.stringify(valid.access);
    insert('api_keys', [valid.id, user.id, valid.name, valid.secretHash, valid.createdAt, null, rules, 0]);
    for (let at = 1; at <= 105; at += 1) {
      const { id, name, secretHash } = someKey(user);
      insert('api_keys', [id, user.id, name, secretHash, at, at, rules, 0]);
    }
  }
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  const revoked = (await store.apiKeys.list()).filter(({ revokedAt }) => revokedAt !== undefined);
  assert.deepEqual(
    revoked.map(({ revokedAt, access }) => [revokedAt, access]),
    Array.from({ length: 100 }, (_, index) => [index + 6, undefined]),
  );
  assert.deepEqual(await store.apiKeys.byHash(valid.secretHash), { key: valid, user });
});

it('keeps the secret of a webhook that was replaced a short time ago', async () => {
  const dataDir = mkdtempSync(join(root, 'secrets-'));
  const [replaced, expired] = [newWebhookId(), newWebhookId()];
  const now = Date.now();
  {
    using db = new DatabaseSync(join(dataDir, 'millrace.db'));
    await migrateTo(db, '0015-recordings-of-deleted-streams');
    const insert = db.prepare(`insert into webhooks
      (id, user_id, name, url, created_at, events, shared_secret, previous_secret, previous_until)
      values (?, 'u', '', '', 1, '[]', 'new', ?, ?)`);
    insert.run(replaced, 'the "old" \\ one', now + 3_600_000);
    insert.run(expired, 'expired', now - 1);
  }
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  for (const [id, expected] of [
    [replaced, ['new', 'the "old" \\ one']],
    [expired, ['new']],
  ] as const) {
    const webhook = await store.webhooks.get(id, 'everyone');
    assert.deepEqual(
      secretsOf(webhook!, ms(now)).map((secret) => secret.reveal()),
      expected,
    );
  }
  // A server of the version before, which runs during the upgrade, signs with the secret in this column.
  using db = new DatabaseSync(join(dataDir, 'millrace.db'), { readOnly: true });
  const row = db.prepare('select previous_secret from webhooks where id = ?').get(replaced);
  assert.equal(row?.['previous_secret'], 'the "old" \\ one');
});
