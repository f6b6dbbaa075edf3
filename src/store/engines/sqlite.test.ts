import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import type { User } from '#domain/user.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Engine, EngineOptions } from '#store/engine.ts';
import { openStore } from '#store/open-store.ts';
import { storeOn } from '#store/sql-store.ts';
import { isMillraceError, storeContract } from '#store/store.contract.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someKey, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { createFaults, FAULT, type Faults, setFault } from './sqlite/faults.ts';
import { openSqlite } from './sqlite.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-store-'));
after(() => rmSync(root, { recursive: true, force: true }));

const newFolder = () => mkdtempSync(join(root, 'data-'));
const openIn = (dataDir: string) => openStore({ dataDir, exclusive: true, logger: silentLogger });
const away = isMillraceError('store_unavailable');

storeContract('SQLite', () => openIn(newFolder()));

/** A store in a folder of its own whose disk and workers the test can spoil. */
interface Spoilt {
  readonly engine: Engine;
  readonly store: Store;
  readonly user: User;
  readonly faults: Faults;
  readonly dataDir: string;
}

async function spoilt(change: Partial<EngineOptions> = {}): Promise<Spoilt & AsyncDisposable> {
  const faults = createFaults();
  const options: EngineOptions = {
    dataDir: newFolder(),
    exclusive: true,
    clock: systemClock,
    logger: silentLogger,
    readTimeoutMs: 5000,
    writeTimeoutMs: 10_000,
    maxPending: 1000,
    closeTimeoutMs: 3000,
    ...change,
  };
  const engine = await openSqlite(options, faults);
  const store = storeOn(engine);
  // A short time limit may pass while the workers start.
  const user = await retried(() => store.users.ensure(someUser()));
  const close = async () => {
    setFault(faults, 'commitDelayMs', 0);
    await store[Symbol.asyncDispose]();
  };
  return { engine, store, user, faults, dataDir: options.dataDir, [Symbol.asyncDispose]: close };
}

const FOREVER_MS = 60_000;
const commits = (faults: Faults) => Atomics.load(faults, FAULT.commits);
const settled = (promises: readonly Promise<unknown>[]) => Promise.allSettled(promises);

describe('writes that meet', () => {
  it('share commits, and one that fails costs its neighbours nothing', async () => {
    await using open = await spoilt();
    const { store, user, faults } = open;
    const there = someStream(user.id);
    await store.streams.create(there);
    const before = commits(faults);
    const streams = Array.from({ length: 10 }, (_, n) => someStream(user.id, n === 7 ? { id: there.id } : {}));
    const results = await settled(streams.map((stream) => store.streams.create(stream)));
    assert.equal(commits(faults) - before, 1);
    for (const [n, result] of results.entries()) {
      assert.equal(result.status, n === 7 ? 'rejected' : 'fulfilled');
      if (n !== 7) assert.ok(await store.streams.get(streams[n]!.id, user.id));
    }
  });

  it('share few commits however many they are', async () => {
    await using open = await spoilt();
    const { store, user, faults } = open;
    const before = commits(faults);
    await Promise.all(Array.from({ length: 500 }, () => store.streams.create(someStream(user.id))));
    assert.ok(commits(faults) - before <= 8, `${commits(faults) - before} commits`);
  });

  it('are each all or nothing when they have several queries', async () => {
    await using open = await spoilt();
    const { engine, store, user } = open;
    const insert = (id: string, name: string) =>
      engine.compiler
        .insertInto('users')
        .values({ id: id as User['id'], name, created_at: ms(1) })
        .compile();
    const both = (...queries: ReturnType<typeof insert>[]) =>
      engine.write(queries.map(({ sql, parameters }) => ({ sql, parameters: parameters as string[] })));
    const [good, bad, alsoGood] = await settled([
      both(insert('1', 'one'), insert('2', 'two')),
      both(insert('3', 'three'), insert('4', user.name)),
      both(insert('5', 'five')),
    ]);
    assert.deepEqual([good?.status, bad?.status, alsoGood?.status], ['fulfilled', 'rejected', 'fulfilled']);
    const found = await Promise.all(['one', 'two', 'three', 'five'].map((name) => store.users.byName(name)));
    assert.deepEqual(
      found.map((each) => each?.id),
      ['1', '2', undefined, '5'],
    );
  });
});

describe('a slow disk', () => {
  it('holds up neither the event loop nor reads', async () => {
    await using open = await spoilt();
    const { store, user, faults } = open;
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    let written = false;
    const create = store.streams.create(someStream(user.id)).then(() => (written = true));
    for (let turn = 0; turn < 100; turn += 1) {
      await new Promise(setImmediate);
      assert.ok(await store.users.byName(user.name));
    }
    assert.equal(written, false);
    setFault(faults, 'commitDelayMs', 0);
    await create;
  });

  it('makes writes reject at their time limit, and what waited behind never happens', async () => {
    await using open = await spoilt({ writeTimeoutMs: 100 });
    const { store, user, faults } = open;
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    const before = commits(faults);
    const [held, waiting] = [someStream(user.id), someStream(user.id)];
    const heldWrite = assert.rejects(store.streams.create(held), away);
    await until(() => commits(faults) > before);
    await assert.rejects(store.streams.create(waiting), away);
    await heldWrite;
    setFault(faults, 'commitDelayMs', 0);
    await until(async () => (await store.streams.get(held.id, user.id)) !== undefined);
    await retried(() => store.streams.create(someStream(user.id)));
    assert.equal(await store.streams.get(waiting.id, user.id), undefined);
  });

  it('refuses calls at once when too many wait', async () => {
    await using open = await spoilt({ maxPending: 4 });
    const { store, user, faults } = open;
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    const creates = Array.from({ length: 4 }, () => store.streams.create(someStream(user.id)));
    await assert.rejects(store.streams.create(someStream(user.id)), away);
    setFault(faults, 'commitDelayMs', 0);
    await Promise.all(creates);
    await store.streams.create(someStream(user.id));
  });

  it('does not keep the store from closing', async () => {
    const { store, user, faults } = await spoilt({ closeTimeoutMs: 50 });
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    const create = assert.rejects(store.streams.create(someStream(user.id)), away);
    await store[Symbol.asyncDispose]();
    await create;
    setFault(faults, 'commitDelayMs', 0);
  });

  it('does not lose a write under way when the store closes, nor leave its log behind', async () => {
    const { store, user, dataDir } = await spoilt();
    const stream = someStream(user.id);
    const create = store.streams.create(stream);
    await store[Symbol.asyncDispose]();
    await create;
    assert.deepEqual(readdirSync(dataDir).toSorted(), ['millrace.db', 'millrace.lock']);
    await using again = await openIn(dataDir);
    assert.ok(await again.streams.get(stream.id, user.id));
  });
});

describe('a fault while open', () => {
  it('full disk: writes are refused and reads go on, until there is space again', async () => {
    await using open = await spoilt();
    const { store, user, faults } = open;
    setFault(faults, 'maxPages', 1);
    const big = Array.from({ length: 16 }, () => store.streams.create(someStream(user.id, { name: 'x'.repeat(8000) })));
    for (const create of big) await assert.rejects(create, away);
    assert.ok(await store.users.byName(user.name));
    setFault(faults, 'maxPages', 0);
    await store.streams.create(someStream(user.id, { name: 'x'.repeat(8000) }));
    assert.equal((await store.streams.list(user.id, { limit: 100 })).rows.length, 1);
  });

  for (const role of ['read', 'write']) {
    it(`a dying worker: its ${role}s are refused, the next ones are answered by another`, async () => {
      await using open = await spoilt();
      const { store, user, faults } = open;
      const call = () => (role === 'read' ? store.users.byName('x') : store.streams.create(someStream(user.id)));
      for (const deaths of [1, 2]) {
        setFault(faults, 'crashes', deaths);
        for (let n = 0; n < deaths; n += 1) await assert.rejects(call(), away);
        await call();
      }
    });
  }

  it('a folder moved away and back: calls are refused meanwhile, nothing acknowledged is lost', async () => {
    await using open = await spoilt();
    const { store, user, dataDir } = open;
    const stream = someStream(user.id);
    await store.streams.create(stream);
    renameSync(dataDir, `${dataDir}-away`);
    await assert.rejects(store.streams.create(someStream(user.id)), away);
    await assert.rejects(store.users.byName(user.name), away);
    renameSync(`${dataDir}-away`, dataDir);
    await store.streams.create(someStream(user.id));
    assert.ok(await store.streams.get(stream.id, user.id));
  });

  it('another database in its place: it is taken up, and the deleted one is not written to', async () => {
    await using open = await spoilt();
    const { store, user, dataDir } = open;
    const other = newFolder();
    const otherStore = await openIn(other);
    await otherStore.users.ensure({ ...user, name: 'of the other' });
    await otherStore[Symbol.asyncDispose]();
    renameSync(join(other, 'millrace.db'), join(dataDir, 'millrace.db'));
    for (const end of ['-wal', '-shm']) rmSync(join(dataDir, `millrace.db${end}`), { force: true });
    assert.ok(await store.users.byName('of the other'));
    await store.streams.create(someStream(user.id));
    using file = new DatabaseSync(join(dataDir, 'millrace.db'));
    assert.equal(file.prepare('select * from streams').all().length, 1);
  });
});

it('asks the database again for a key or a stream only once something was committed, by whatever process', async () => {
  await using open = await spoilt();
  const { store, user, faults, dataDir } = open;
  const [key, stream] = [someKey(user), someStream(user.id)];
  await store.apiKeys.create(key);
  await store.streams.create(stream);
  await store.apiKeys.byHash(key.secretHash);
  await store.streams.get(stream.id, user.id);
  await store.streams.byPlaybackId(stream.playbackId);
  // A worker that is asked would die.
  setFault(faults, 'crashes', 1);
  assert.equal((await store.apiKeys.byHash(key.secretHash))?.id, key.id);
  assert.equal((await store.streams.get(stream.id, user.id))?.id, stream.id);
  assert.equal((await store.streams.byPlaybackId(stream.playbackId))?.id, stream.id);
  setFault(faults, 'crashes', 0);

  using beside = new DatabaseSync(join(dataDir, 'millrace.db'));
  beside.exec("update streams set name = 'renamed'");
  assert.equal((await store.streams.get(stream.id, user.id))?.name, 'renamed');
  assert.equal((await store.streams.byPlaybackId(stream.playbackId))?.name, 'renamed');
  beside.exec('update api_keys set revoked_at = 1');
  assert.equal(await store.apiKeys.byHash(key.secretHash), undefined);
});

it('no query reads a whole table', async () => {
  await using open = await spoilt();
  const { engine, user, dataDir } = open;
  const statements = new Set<string>();
  const recording: Engine = {
    ...engine,
    read(query) {
      statements.add(query.sql);
      return engine.read(query);
    },
    write(queries) {
      for (const { sql } of queries) statements.add(sql);
      return engine.write(queries);
    },
  };
  const store = storeOn(recording);
  const [key, stream] = [someKey(user), someStream(user.id)];
  const session = someSession(stream);
  const after = { createdAt: ms(1), id: stream.id };
  const calls: { [Noun in 'users' | 'apiKeys' | 'streams' | 'sessions']: Record<keyof Store[Noun], () => unknown> } = {
    users: { ensure: () => store.users.ensure(someUser({ name: 'new' })), byName: () => store.users.byName('x') },
    apiKeys: {
      createFirst: () => store.apiKeys.createFirst(user, key),
      create: () => store.apiKeys.create(someKey(user, { name: 'another' })),
      byHash: () => store.apiKeys.byHash(key.secretHash),
      list: () => store.apiKeys.list(),
      revoke: () => store.apiKeys.revoke(key.id, ms(1)),
    },
    streams: {
      create: () => store.streams.create(stream),
      get: () => store.streams.get(stream.id, user.id),
      byStreamKey: () => store.streams.byStreamKey(stream.streamKey),
      byPlaybackId: () => store.streams.byPlaybackId(stream.playbackId),
      list: async () => {
        await store.streams.list(user.id, { limit: 5 });
        await store.streams.list(user.id, { limit: 5, after });
      },
      setActivity: () => store.streams.setActivity(stream.id, { isActive: true, lastSeen: ms(1) }),
    },
    sessions: {
      create: () => store.sessions.create(session),
      get: () => store.sessions.get(session.id, user.id),
      change: () => store.sessions.change(session.id, { phase: 'live' }),
      inPhases: () => store.sessions.inPhases(['live', 'starting']),
    },
  };
  for (const noun of Object.values(calls)) for (const call of Object.values(noun)) await call();

  using db = new DatabaseSync(join(dataDir, 'millrace.db'), { readOnly: true });
  const plans = [...statements].flatMap((sql) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => `${String(detail)}: ${sql}`),
  );
  const scans = plans.filter((plan) => /^(SCAN|USE TEMP B-TREE)/.test(plan));
  const allowed = [
    // Whether there is any key at all: stops at the first.
    /^SCAN api_keys\b.*: insert into "(users|api_keys)" .* select .* not exists/,
    // Rows that refer to a user: looked for only after a foreign key was violated.
    /^SCAN sessions: insert into "users" .* select/,
    // All keys, in order: what the caller asks for.
    /^SCAN api_keys USING INDEX api_keys_by_age: select/,
    // The live sessions of several phases, put in order.
    /^USE TEMP B-TREE FOR ORDER BY: select .* from "sessions"/,
    // One row without a table.
    /^SCAN CONSTANT ROW: insert/,
  ];
  assert.deepEqual(
    scans.filter((scan) => !allowed.some((pattern) => pattern.test(scan))),
    [],
  );
  // A later page starts where it should, instead of reading over all before it.
  assert.ok(plans.some((plan) => /^SEARCH streams USING INDEX .*\(user_id=\? AND \(created_at,id\)</.test(plan)));
});

it('refuses values that SQLite would keep as something else', async () => {
  await using open = await spoilt();
  const { engine, store, user } = open;
  const sql = 'insert into "users" values (?, ?, ?)';
  for (const value of [new Date(0), {}, [], undefined, true, 1n, Number.NaN, '\ud83c']) {
    const parameters = [value, 'name', 1] as never[];
    await assert.rejects(engine.write([{ sql, parameters }]), TypeError);
    await assert.rejects(engine.read({ sql: 'select ?', parameters: [value as never] }), TypeError);
  }
  await assert.rejects(store.streams.create(someStream(user.id, { name: '\ud83c' })), TypeError);
});

/** Tries a call until the store takes it. */
async function retried<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!away(error)) throw error;
    }
  }
}

/** Waits until something is so; the runner's time limit is the only other end. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}
