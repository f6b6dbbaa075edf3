import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it, type TestContext } from 'node:test';
import { type AssetId, newClipId, newEventId, newMediaPath, newWebhookLogId, type SessionId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import { NO_USAGE } from '#domain/usage.ts';
import type { User } from '#domain/user.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { ASSET_ORDERS, type AssetFilter } from '#store/asset-store.ts';
import { recoversFromClockAhead } from '#store/contract/clock-ahead.contract.ts';
import { isMillraceError, PATIENT } from '#store/contract/suite.contract.ts';
import { type Engine, type EngineOptions, Unchanged } from '#store/engine.ts';
import { openStore } from '#store/open-store.ts';
import { storeOn } from '#store/sql-store.ts';
import { storeContract } from '#store/store.contract.ts';
import { LIST_ORDERS, type Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { putEmptyStore } from '#test/support/empty-store.ts';
import {
  SOME_EXTENT,
  someAudit,
  someClip,
  someKey,
  someNode,
  someReceipt,
  someSample,
  someSession,
  someStream,
  someUser,
  someWebhook,
} from '#test/support/sample-records.ts';
import { createFaults, FAULT, type Faults, setFault } from './sqlite/faults.ts';
import { openSqlite } from './sqlite.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-store-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** Makes a folder with an empty store. Creating the tables is tested in `sqlite-opening.test.ts`. */
async function newFolder(): Promise<string> {
  const folder = mkdtempSync(join(root, 'data-'));
  await putEmptyStore(folder);
  return folder;
}

const openIn = (dataDir: string) => openStore({ dataDir, exclusive: true, logger: silentLogger, ...PATIENT });
const away = isMillraceError('store_unavailable');
const unknown = isMillraceError('outcome_unknown');

storeContract('SQLite', async () => openIn(await newFolder()));

/** A store in a folder of its own, with faults of its disk and workers that the test can set. */
interface FaultyStore {
  readonly engine: Engine;
  readonly store: Store;
  readonly user: User;
  readonly faults: Faults;
  readonly dataDir: string;
}

async function openWithFaults(change: Partial<EngineOptions> = {}): Promise<FaultyStore & AsyncDisposable> {
  const faults = createFaults();
  const options: EngineOptions = {
    dataDir: await newFolder(),
    databaseUrl: undefined,
    exclusive: true,
    clock: systemClock,
    logger: silentLogger,
    ...PATIENT,
    maxPending: 1000,
    closeTimeoutMs: 3000,
    ...change,
  };
  const engine = await openSqlite(options, faults);
  const store = storeOn(engine, options.logger);
  // A short time limit may pass while the workers start.
  const user = await retried(() => store.users.ensure(someUser()));
  const close = async () => {
    setFault(faults, 'commitDelayMs', 0);
    await store[Symbol.asyncDispose]();
  };
  return { engine, store, user, faults, dataDir: options.dataDir, [Symbol.asyncDispose]: close };
}

const FOREVER_MS = 60_000;
/** The time limit of reads and writes where a test lets it pass. */
const LIMIT_MS = PATIENT.writeTimeoutMs;

/** A clock and timers that stand still until the time limit passes. */
function stoppedTime(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let passedMs = 0;
  const clock: Clock = { now: () => systemClock.now(), monotonic: () => ms(passedMs) };
  return {
    clock,
    passLimit: () => {
      passedMs += LIMIT_MS;
      t.mock.timers.tick(LIMIT_MS);
    },
  };
}

const commits = (faults: Faults) => Atomics.load(faults, FAULT.commits);
const settled = (promises: readonly Promise<unknown>[]) => Promise.allSettled(promises);

describe('concurrent writes', () => {
  it('share commits, and one that fails does not affect the others', async () => {
    await using open = await openWithFaults();
    const { store, user, faults } = open;
    const there = someStream(user.id);
    await store.streams.create(there, someReceipt());
    const before = commits(faults);
    const streams = Array.from({ length: 10 }, (_, n) => someStream(user.id, n === 7 ? { id: there.id } : {}));
    const results = await settled(streams.map((stream) => store.streams.create(stream, someReceipt())));
    assert.equal(commits(faults) - before, 1);
    for (const [n, result] of results.entries()) {
      assert.equal(result.status, n === 7 ? 'rejected' : 'fulfilled');
      if (n !== 7) assert.ok(await store.streams.get(streams[n]!.id, user.id));
    }
  });

  it('share few commits however many they are', async () => {
    await using open = await openWithFaults();
    const { store, user, faults } = open;
    const before = commits(faults);
    await Promise.all(Array.from({ length: 500 }, () => store.streams.create(someStream(user.id), someReceipt())));
    assert.ok(commits(faults) - before <= 8, `${commits(faults) - before} commits`);
  });

  it('are each all or nothing when they have several queries', async () => {
    await using open = await openWithFaults();
    const { engine, store, user } = open;
    const insert = (id: string, name: string) =>
      engine.compiler
        .insertInto('users')
        .values({ id: id as User['id'], name, created_at: ms(1), is_admin: 0, suspended: 0, quotas: '{}' })
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

describe('announcements', () => {
  const announcing = ({ engine, user }: FaultyStore, text: string) => {
    const { sql, parameters } = engine.compiler
      .updateTable('users')
      .set({ name: text })
      .where('id', '=', user.id)
      .compile();
    return engine.write([{ sql, parameters: parameters as string[] }], [text]);
  };

  it('are delivered in the order of the writes, before each resolves, even if a listener throws', async () => {
    await using open = await openWithFaults();
    const received: string[] = [];
    using _ = open.engine.listen(() => {
      throw new Error('of a listener');
    });
    using __ = open.engine.listen((text) => received.push(String(text)));
    const names = Array.from({ length: 40 }, (___, n) => `name ${n}`);
    await Promise.all(
      names.map(async (text, n) => {
        await announcing(open, text);
        assert.deepEqual(received.slice(0, n + 1), names.slice(0, n + 1));
      }),
    );
    assert.deepEqual(received, names);
  });

  it('of a write that timed out are delivered once it is carried out', async (t) => {
    const { clock, passLimit } = stoppedTime(t);
    await using open = await openWithFaults({ clock });
    const received: unknown[] = [];
    using _ = open.engine.listen((text) => received.push(text));
    setFault(open.faults, 'commitDelayMs', FOREVER_MS);
    const before = commits(open.faults);
    const write = assert.rejects(announcing(open, 'late'), unknown);
    await until(() => commits(open.faults) > before);
    passLimit();
    await write;
    assert.deepEqual(received, []);
    setFault(open.faults, 'commitDelayMs', 0);
    await until(() => received.length > 0);
    assert.deepEqual(received, ['late']);
  });

  it('are reported as possibly missed when the worker died', async () => {
    await using open = await openWithFaults();
    const received: unknown[] = [];
    using _ = open.engine.listen((text) => received.push(text));
    setFault(open.faults, 'crashes', 1);
    await assert.rejects(announcing(open, 'unknown'), unknown);
    assert.deepEqual(received, [undefined]);
  });

  it('that no store made are ignored, and counted in one log line', async () => {
    const lines: string[] = [];
    const note = (_: object, message: string) => void lines.push(message);
    await using open = await openWithFaults({ logger: { ...silentLogger, warn: note, error: note } });
    const received: unknown[] = [];
    using _ = open.store.listen((announcement) => received.push(announcement));
    const forged = ['null', '7', '{', '{"type":"stream_changed"}'];
    await open.engine.write([], forged);
    const { id } = open.user;
    await open.store.users.change(id, { name: 'renamed' }, someReceipt());
    assert.deepEqual(received, [{ type: 'user_changed', userId: id }]);
    assert.deepEqual(lines, ['announcements ignored that no store made']);
    await open.store[Symbol.asyncDispose]();
    assert.deepEqual(
      lines,
      Array(2).fill('announcements ignored that no store made'),
      'the others are counted in one line',
    );
  });

  it('end with the subscription', async () => {
    await using open = await openWithFaults();
    const received: unknown[] = [];
    {
      using _ = open.engine.listen((text) => received.push(text));
    }
    await open.engine.write([], ['nobody hears']);
    assert.deepEqual(received, []);
  });
});

describe('a query that must change rows', () => {
  it('undoes the whole write when it does not, without affecting other writes', async () => {
    await using open = await openWithFaults();
    const { engine, store, user } = open;
    const rename = (id: string, name: string, mustChange?: number) => ({
      sql: 'update users set name = ? where id = ?',
      parameters: [name, id],
      ...(mustChange !== undefined && { mustChange }),
    });
    const received: unknown[] = [];
    using _ = engine.listen((text) => received.push(text));
    const outcomes = await settled([
      engine.write([rename(user.id, 'first', 1), rename('nobody', 'x', 1)], ['undone']),
      engine.write([rename(user.id, 'second', 1)], ['done']),
      engine.write([rename('nobody', 'x', 1)], ['undone']),
      engine.write([rename(user.id, 'third', 0)], ['undone']),
    ]);
    assert.deepEqual(
      outcomes.map((each) => (each.status === 'rejected' ? each.reason instanceof Unchanged : 'done')),
      [true, 'done', true, true],
    );
    assert.equal((await store.users.get(user.id))?.name, 'second');
    assert.deepEqual(received, ['done']);
  });
});

it('undoes what a call changed before it failed, and runs the whole batch again', async () => {
  await using open = await openWithFaults();
  const { engine, user } = open;
  const rename = (name: string, change: object = {}) => ({
    sql: 'update users set name = ? where id = ?',
    parameters: [name, user.id],
    ...change,
  });
  const add = (id: string) => ({
    sql: "insert into users values (?, ?, 1, 0, 0, '{}')",
    parameters: [id, `name of ${id}`],
  });
  const outcomes = await settled([
    engine.write([add('a')]),
    engine.write([rename('x'), add('b'), add('b')]),
    engine.write([rename('y', { mustChange: 2 })]),
    engine.write([add('c'), add('d')]),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  const names = await engine.read<{ name: string }>({ sql: 'select name from users order by name', parameters: [] });
  assert.deepEqual(
    names.map(({ name }) => name).toSorted(),
    [user.name, 'name of a', 'name of c', 'name of d'].toSorted(),
  );
});

describe('a slow disk', () => {
  it('delays neither the event loop nor reads', async () => {
    await using open = await openWithFaults();
    const { store, user, faults } = open;
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    let written = false;
    const create = store.streams.create(someStream(user.id), someReceipt()).then(() => (written = true));
    for (let turn = 0; turn < 100; turn += 1) {
      await new Promise(setImmediate);
      assert.ok(await store.users.byName(user.name));
    }
    assert.equal(written, false);
    setFault(faults, 'commitDelayMs', 0);
    await create;
  });

  it('makes the outcome of a write unknown at its time limit, while a write that waited is refused and never happens', async (t) => {
    const { clock, passLimit } = stoppedTime(t);
    await using open = await openWithFaults({ clock });
    const { store, user, faults } = open;
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    const before = commits(faults);
    const [held, waiting] = [someStream(user.id), someStream(user.id)];
    const heldWrite = assert.rejects(store.streams.create(held, someReceipt()), unknown);
    await until(() => commits(faults) > before);
    const waitingWrite = assert.rejects(store.streams.create(waiting, someReceipt()), away);
    passLimit();
    await Promise.all([heldWrite, waitingWrite]);
    setFault(faults, 'commitDelayMs', 0);
    await until(async () => (await store.streams.get(held.id, user.id)) !== undefined);
    await retried(() => store.streams.create(someStream(user.id), someReceipt()));
    assert.equal(await store.streams.get(waiting.id, user.id), undefined);
  });

  it('does not time out a write that was carried out while this process was held up', async () => {
    const writeTimeoutMs = 500;
    await using open = await openWithFaults({ writeTimeoutMs });
    const { store, user, faults } = open;
    const before = commits(faults);
    const create = store.streams.create(someStream(user.id), someReceipt());
    await new Promise(setImmediate); // from here on, the event loop runs timers before it reads anything
    const block = (durationMs: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
    while (Atomics.load(faults, FAULT.answeredCommits) <= before) block(10);
    block(writeTimeoutMs);
    await create;
  });

  it('refuses calls at once when too many wait', async () => {
    await using open = await openWithFaults({ maxPending: 4 });
    const { store, user, faults } = open;
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    const creates = Array.from({ length: 4 }, () => store.streams.create(someStream(user.id), someReceipt()));
    await assert.rejects(store.streams.create(someStream(user.id), someReceipt()), away);
    setFault(faults, 'commitDelayMs', 0);
    await Promise.all(creates);
    await store.streams.create(someStream(user.id), someReceipt());
  });

  it('does not keep the store from closing', async () => {
    const { store, user, faults } = await openWithFaults({ closeTimeoutMs: 50 });
    setFault(faults, 'commitDelayMs', FOREVER_MS);
    const before = commits(faults);
    const create = assert.rejects(store.streams.create(someStream(user.id), someReceipt()), unknown);
    await until(() => commits(faults) > before);
    const waiting = assert.rejects(store.streams.create(someStream(user.id), someReceipt()), away);
    await store[Symbol.asyncDispose]();
    await waiting;
    await create;
    setFault(faults, 'commitDelayMs', 0);
  });

  it('does not lose a running write when the store closes, and leaves no write-ahead log', async () => {
    const { store, user, dataDir } = await openWithFaults({ closeTimeoutMs: 60_000 });
    const stream = someStream(user.id);
    const create = store.streams.create(stream, someReceipt());
    await store[Symbol.asyncDispose]();
    await create;
    assert.deepEqual(readdirSync(dataDir).toSorted(), ['millrace.db', 'millrace.lock']);
    await using again = await openIn(dataDir);
    assert.ok(await again.streams.get(stream.id, user.id));
  });
});

describe('a fault while open', () => {
  it('full disk: writes are refused and reads continue, until there is space again', async () => {
    await using open = await openWithFaults();
    const { store, user, faults } = open;
    setFault(faults, 'maxPages', 1);
    const big = Array.from({ length: 16 }, () =>
      store.streams.create(someStream(user.id, { name: 'x'.repeat(8000) }), someReceipt()),
    );
    for (const create of big) await assert.rejects(create, away);
    assert.ok(await store.users.byName(user.name));
    setFault(faults, 'maxPages', 0);
    await store.streams.create(someStream(user.id, { name: 'x'.repeat(8000) }), someReceipt());
    assert.equal(
      (await store.streams.list(user.id, { limit: 100, order: 'createdAt', direction: 'desc', filter: {} })).rows
        .length,
      1,
    );
  });

  for (const [role, refused] of [
    ['read', away],
    ['write', unknown],
  ] as const) {
    it(`a dying worker: its ${role}s reject, and later ones are answered by a new worker`, async () => {
      await using open = await openWithFaults();
      const { store, user, faults } = open;
      const call = () =>
        role === 'read' ? store.users.byName('x') : store.streams.create(someStream(user.id), someReceipt());
      for (const deaths of [1, 2]) {
        setFault(faults, 'crashes', deaths);
        for (let n = 0; n < deaths; n += 1) await assert.rejects(call(), refused);
        await call();
      }
    });
  }

  for (const [what, fault] of [
    ['a worker that dies after a commit, before it can answer', 'crashesAfterCommit'],
    ['a disk that fails after a commit was written', 'failingCommits'],
  ] as const) {
    it(`${what}: the outcome is unknown, and the write has happened`, async () => {
      await using open = await openWithFaults();
      const { store, user, faults } = open;
      const stream = someStream(user.id);
      setFault(faults, fault, 1);
      await assert.rejects(store.streams.create(stream, someReceipt()), unknown);
      assert.ok(await store.streams.get(stream.id, user.id));
      await assert.rejects(store.streams.create(stream, someReceipt()), isMillraceError('conflict'));
    });
  }

  it('a folder moved away and back: calls are refused in the meantime, and no acknowledged write is lost', async () => {
    await using open = await openWithFaults();
    const { store, user, dataDir } = open;
    const stream = someStream(user.id);
    await store.streams.create(stream, someReceipt());
    renameSync(dataDir, `${dataDir}-away`);
    await assert.rejects(store.streams.create(someStream(user.id), someReceipt()), away);
    await assert.rejects(store.users.byName(user.name), away);
    renameSync(`${dataDir}-away`, dataDir);
    await store.streams.create(someStream(user.id), someReceipt());
    assert.ok(await store.streams.get(stream.id, user.id));
  });

  it('another database in its place: it is opened, and the deleted one is not written to', async () => {
    await using open = await openWithFaults();
    const { store, user, dataDir } = open;
    const other = await newFolder();
    const otherStore = await openIn(other);
    await otherStore.users.ensure({ ...user, name: 'of the other' });
    await otherStore[Symbol.asyncDispose]();
    renameSync(join(other, 'millrace.db'), join(dataDir, 'millrace.db'));
    for (const end of ['-wal', '-shm']) rmSync(join(dataDir, `millrace.db${end}`), { force: true });
    assert.ok(await store.users.byName('of the other'));
    await store.streams.create(someStream(user.id), someReceipt());
    using file = new DatabaseSync(join(dataDir, 'millrace.db'));
    assert.equal(file.prepare('select * from streams').all().length, 1);
  });
});

it('queries the database again for a key, a stream or events without numbers only after a commit, by any process', async () => {
  await using open = await openWithFaults();
  const { store, user, faults, dataDir } = open;
  const [key, stream] = [someKey(user), someStream(user.id)];
  await store.apiKeys.create(key, someReceipt());
  await store.streams.create(stream, someReceipt());
  await store.events.number(100);
  await store.events.areWaiting();
  await store.apiKeys.byHash(key.secretHash);
  await store.streams.get(stream.id, user.id);
  await store.streams.byPlaybackId(stream.playbackId);
  // A worker that gets a query would die.
  setFault(faults, 'crashes', 1);
  assert.equal((await store.apiKeys.byHash(key.secretHash))?.key.id, key.id);
  assert.equal((await store.streams.get(stream.id, user.id))?.id, stream.id);
  assert.equal((await store.streams.byPlaybackId(stream.playbackId))?.id, stream.id);
  assert.equal(await store.events.areWaiting(), false);
  setFault(faults, 'crashes', 0);

  using beside = new DatabaseSync(join(dataDir, 'millrace.db'));
  /** Commits as another process does, between two turns of the event loop of this one. */
  const commit = async (sql: string) => {
    beside.exec(sql);
    await new Promise(setImmediate);
  };
  await commit("update streams set name = 'renamed'");
  assert.equal((await store.streams.get(stream.id, user.id))?.name, 'renamed');
  assert.equal((await store.streams.byPlaybackId(stream.playbackId))?.name, 'renamed');
  await commit('update api_keys set revoked_at = 1');
  assert.equal(await store.apiKeys.byHash(key.secretHash), undefined);
  await commit('update events set sequence = null');
  assert.equal(await store.events.areWaiting(), true);
});

it('recovers from a clock that was ahead while events were stored', async () => {
  const dataDir = await newFolder();
  await using store = await openIn(dataDir);
  using beside = new DatabaseSync(join(dataDir, 'millrace.db'));
  await recoversFromClockAhead(store, async (sql) => beside.exec(sql));
});

it('tells a delivery that was requested again from one that is as old as its event', async () => {
  const dataDir = await newFolder();
  await using store = await openIn(dataDir);
  const user = await store.users.ensure(someUser());
  const webhook = someWebhook(user.id, { events: ['stream.created'] });
  await store.webhooks.create(webhook, someReceipt());
  const add = async () => {
    await store.streams.create(someStream(user.id), someReceipt());
    await store.events.number(10);
  };
  await add();
  using beside = new DatabaseSync(join(dataDir, 'millrace.db'));
  beside.exec(`update events set recorded_at = recorded_at - 3600000;
    update webhook_deliveries set created_at = created_at - 3600000, attempts = 1`);
  const areRepeated = async () => (await store.webhooks.due(webhook.id, 10)).map(({ isRepeated }) => isRepeated);
  assert.deepEqual(await areRepeated(), [false]);
  await store.webhooks.resendSince(webhook.id, ms(0), someReceipt());
  await store.webhooks.resendSome((await store.webhooks.get(webhook.id, user.id))!, 10);
  assert.deepEqual(await areRepeated(), [true]);
  await add();
  assert.deepEqual(new Set(await areRepeated()), new Set([false, true]));
});

it('deletes old sessions that are among any number of others with recordings', async () => {
  const dataDir = await newFolder();
  await using store = await openIn(dataDir);
  const user = await store.users.ensure(someUser());
  const stream = someStream(user.id, { record: true });
  await store.streams.create(stream, someReceipt());
  const recorded = someSession(stream, { phase: 'ended', endedAt: ms(5), recordingPath: newMediaPath() });
  await store.sessions.create(recorded);
  using beside = new DatabaseSync(join(dataDir, 'millrace.db'));
  const repeat = (table: string, changed: readonly string[]) => {
    const columns = beside.prepare(`select name from pragma_table_info('${table}')`).all() as { name: string }[];
    const values = columns.map(({ name }) => (changed.includes(name) ? `${name} || '-' || at` : name));
    beside.exec(`with recursive times (at) as (select 1 union all select at + 1 from times where at < 12500)
      insert into ${table} select ${values.join()} from ${table}, times`);
  };
  repeat('sessions', ['id', 'media_path', 'recording_path']);
  repeat('assets', ['id', 'session_id', 'playback_id', 'path', 'media_path']);
  const deletable = ['1', '777', '11999', '12500'];
  for (const at of deletable) beside.exec(`delete from assets where id = '${recorded.id}-${at}'`);

  const count = () => beside.prepare('select count(*) as count from sessions').get()?.['count'];
  let deleted = 0;
  for (let last = 3; last === 3; deleted += last) last = await store.sessions.deleteEnded(ms(6), 3);
  assert.equal(deleted, deletable.length);
  assert.equal(count(), 12_501 - deletable.length);

  await store.sessions.create(
    someSession(stream, { phase: 'ended', createdAt: ms(1), endedAt: ms(9), recordingPath: undefined }),
  );
  while ((await store.sessions.deleteBeyond(user.id, 1000, 3)) === 3);
  assert.equal(count(), 12_501 - deletable.length);
});

it('no query reads or sorts a whole table', async () => {
  await using open = await openWithFaults();
  const { engine, user, dataDir } = open;
  const statements = new Set<string>();
  const recording: Engine = {
    ...engine,
    read(query) {
      statements.add(query.sql);
      return engine.read(query);
    },
    readFirst(query, maxBytes) {
      statements.add(query.sql);
      return engine.readFirst(query, maxBytes);
    },
    write(queries) {
      for (const { sql } of queries) statements.add(sql);
      return engine.write(queries);
    },
  };
  const store = storeOn(recording, silentLogger);
  const [key, stream, node] = [someKey(user), someStream(user.id), someNode()];
  const session = someSession(stream, { recordingPath: newMediaPath() });
  const recordingId = session.id as string as AssetId;
  const webhook = someWebhook(user.id, { events: ['stream.created'] });
  const claim = { userId: user.id, route: 'POST /', keyHash: 'k', bodyHash: 'b', at: ms(1) };
  const answering = { audit: someAudit(), answer: { claim, sealed: '' } };
  const page = { limit: 5, after: { at: ms(1), id: stream.id } };
  const calls: { [Noun in Nouns]: Record<keyof Store[Noun], () => unknown> } = {
    users: {
      ensure: () => store.users.ensure(someUser({ name: 'new' })),
      create: () => store.users.create(someUser({ isAdmin: true }), someReceipt()),
      get: () => store.users.get(user.id),
      getMany: () => store.users.getMany([user.id]),
      byName: () => store.users.byName('x'),
      list: async () => [await store.users.list({ limit: 5 }), await store.users.list(page)],
      change: async () => {
        await store.users.change(user.id, { name: 'other' }, someReceipt());
        await store.users.change(user.id, { suspended: true }, someReceipt());
        await store.users.change(user.id, { quotas: { streams: 1 } }, someReceipt());
      },
    },
    apiKeys: {
      createFirst: () => store.apiKeys.createFirst(someUser(), key, [someReceipt()]),
      create: () => store.apiKeys.create(someKey(user, { name: 'another' }), someReceipt(), { atMost: 5 }),
      byHash: () => store.apiKeys.byHash(key.secretHash),
      get: async () => [await store.apiKeys.get(key.id, user.id), await store.apiKeys.get(key.id, 'everyone')],
      ofUser: async () => [
        await store.apiKeys.ofUser(user.id, { limit: 5 }),
        await store.apiKeys.ofUser(user.id, page),
      ],
      countOf: () => store.apiKeys.countOf(user.id, 5),
      exist: () => store.apiKeys.exist(),
      wereUsed: () => store.apiKeys.wereUsed(),
      list: () => store.apiKeys.list(),
      seen: () => store.apiKeys.seen(new Map([[key.id, ms(1)]])),
      revoke: () => store.apiKeys.revoke(key.id, user.id, someReceipt()),
    },
    samples: {
      add: () => store.samples.add([{ sessionId: session.id, sample: someSample() }]),
      list: () => store.samples.list(session.id, { from: ms(0), to: ms(1), limit: 5 }),
    },
    usage: {
      count: () =>
        store.usage.count([{ hour: ms(0), playbackId: stream.playbackId, countedBy: 'a', counts: NO_USAGE }]),
      sum: async () => {
        const span = { from: ms(0), to: ms(1), stepMs: 3_600_000, limit: 5 };
        await store.usage.sum(user.id, { ...span, by: 'stream' });
        for (const scope of ['everyone', user.id] as const)
          await store.usage.sum(scope, { ...span, streamId: stream.id });
      },
      deleteOlder: () => store.usage.deleteOlder(ms(0), 5),
    },
    streams: {
      create: () => store.streams.create(stream, someReceipt(), { atMost: 5 }),
      get: async () => [await store.streams.get(stream.id, user.id), await store.streams.get(stream.id, 'everyone')],
      getMany: () => store.streams.getMany([stream.id]),
      suspendedAmong: () => store.streams.suspendedAmong([stream.id]),
      active: async () => [await store.streams.active(), await store.streams.active(node.id)],
      byStreamKey: () => store.streams.byStreamKey(stream.streamKey),
      byPlaybackId: () => store.streams.byPlaybackId(stream.playbackId),
      formerly: () => store.streams.formerly(stream.streamKey, ms(0)),
      forgetFormerKeys: () => store.streams.forgetFormerKeys(ms(0), 5),
      forgetDeleted: async () => {
        const deleted = someStream(user.id);
        await store.streams.create(deleted, someReceipt());
        await store.streams.delete([deleted.id], user.id, [someReceipt()]);
        await store.streams.forgetDeleted(ms(2 ** 50), 5);
      },
      list: () => everyList(store.streams, user, stream),
      count: () => store.streams.count(user.id, {}, 'createdAt'),
      countOf: () => store.streams.countOf(user.id, 5),
      change: async () => {
        await store.streams.change(stream.id, user.id, { name: 'x' }, someReceipt());
        await store.streams.change(stream.id, user.id, { name: 'x' }, someReceipt(), 'idle');
      },
      terminate: () => store.streams.terminate(stream.id, user.id, { at: ms(1), notWithinMs: 1 }, someReceipt()),
      setActivity: async () => {
        const activity = { isActive: true, lastSeen: ms(1), health: undefined };
        await store.streams.setActivity(stream.id, activity);
        await store.streams.setActivity(stream.id, activity, node.id).catch(() => {});
      },
      delete: () => store.streams.delete([someStream(user.id).id], user.id, [someReceipt()]),
    },
    sessions: {
      create: async () => {
        await store.sessions.create(session);
        await store.sessions.create(session, node.id).catch(() => {});
      },
      adopt: () => store.sessions.adopt(someSession(someStream(user.id, { id: stream.id })), someReceipt()),
      get: async () => [
        await store.sessions.get(session.id, user.id),
        await store.sessions.get(session.id, 'everyone'),
      ],
      change: async () => {
        await store.sessions.change(session.id, { phase: 'live' });
        await store.sessions.change(session.id, { phase: 'live' }, node.id).catch(() => {});
      },
      resume: () => store.sessions.resume(session, { phase: 'live' }, node.id).catch(() => {}),
      list: () => everyList(store.sessions, user, stream),
      count: () => store.sessions.count(user.id, {}, 'createdAt'),
      ofNode: () => store.sessions.ofNode(node.id, ['live', 'starting']),
      openOf: () => store.sessions.openOf(stream.id),
      newest: () => store.sessions.newest(stream.playbackId),
      byMediaPath: () => store.sessions.byMediaPath(session.mediaPath),
      deleteEnded: () => store.sessions.deleteEnded(ms(1), 5),
      usersWithEnded: () => store.sessions.usersWithEnded(ms(1)),
      deleteBeyond: async () => {
        await store.sessions.create(someSession(someStream(user.id, { id: stream.id })));
        await store.sessions.deleteBeyond(user.id, 1, 5);
      },
    },
    assets: {
      get: () => store.assets.get(recordingId, user.id),
      getMany: async () => [
        await store.assets.getMany([recordingId]),
        await store.assets.getMany([recordingId], 'all'),
      ],
      byPlaybackId: async () => [
        await store.assets.byPlaybackId(stream.playbackId),
        await store.assets.byPlaybackId(recordingId),
      ],
      byPath: () => store.assets.byPath(session.mediaPath),
      list: () => everyAssetList(store.assets, user, stream),
      count: () => store.assets.count(user.id, {}, 'createdAt'),
      countOf: () => store.assets.countOf(user.id, 5),
      bytesOf: () => store.assets.bytesOf(user.id),
      secondsOf: () => store.assets.secondsOf(user.id),
      createClip: () => store.assets.createClip(someClip(session), recordingId, someReceipt(), { atMost: 5 }),
      change: () => store.assets.change(recordingId, user.id, { name: 'x' }, someReceipt()),
      progress: () => store.assets.progress(recordingId, SOME_EXTENT),
      stored: () => store.assets.stored(recordingId),
      open: () => store.assets.open(node.id),
      clipsOf: () => store.assets.clipsOf(recordingId),
      finish: () => store.assets.finish(recordingId, SOME_EXTENT, ms(1)),
      fail: () => store.assets.fail(recordingId, 'No.', ms(1)),
      due: () => store.assets.due({ now: ms(1), endedBefore: ms(1), limit: 5 }),
      oldest: () => store.assets.oldest(node.id, 5),
      expire: () => store.assets.expire(newClipId(), ms(1)),
      delete: () => store.assets.delete(recordingId, user.id, someReceipt()),
      deleting: () => store.assets.deleting({ before: ms(1), limit: 5 }),
      deleted: () => store.assets.deleted(recordingId),
      forget: () => store.assets.forget(ms(1), 5),
    },
    nodes: {
      renew: () => store.nodes.renew(node, 0),
      time: () => store.nodes.time(),
      list: () => store.nodes.list(),
      lapsed: () => store.nodes.lapsed(),
      clusterSecret: () => store.nodes.clusterSecret(),
      endSessionsOf: async () => {
        await store.sessions.create(someSession(stream, { nodeId: node.id }));
        await store.nodes.endSessionsOf(node.id, ms(1));
      },
      leave: () => store.nodes.leave(node.id),
    },
    publishers: {
      claim: () => store.publishers.claim(stream.id, node.id).catch(() => {}),
      release: () => store.publishers.release(stream.id, node.id),
      ownersOf: () => store.publishers.ownersOf([stream.id]),
    },
    idempotency: {
      claim: async () => {
        await store.idempotency.claim(claim, { pendingMs: 1, keepMs: 1 });
        await store.streams.change(stream.id, user.id, { name: 'y' }, answering);
        await store.idempotency.claim({ ...claim, at: ms(0) }, { pendingMs: 1, keepMs: 1 });
      },
      known: () => store.idempotency.known(claim, { pendingMs: 1, keepMs: 1 }),
      release: () => store.idempotency.release(claim),
      deleteOlder: () => store.idempotency.deleteOlder(ms(1), 5),
    },
    audit: {
      list: async () => {
        for (const filter of [{}, { userId: user.id }, { resourceId: 'x' }, { userId: user.id, resourceId: 'x' }]) {
          await store.audit.list(filter, { limit: 5 });
          await store.audit.list(filter, page);
        }
      },
      deleteOlder: () => store.audit.deleteOlder(ms(1), 5),
    },
    events: {
      add: () => store.events.add([]),
      number: () => store.events.number(5),
      areWaiting: () => store.events.areWaiting(),
      onUnnumbered: () => store.events.onUnnumbered(() => {})[Symbol.dispose](),
      last: () => store.events.last(),
      list: async () => {
        const [streamId, type, from, to] = [stream.id, 'stream.idle', ms(1), ms(2)] as const;
        for (const direction of ['asc', 'desc'] as const) {
          const every = { limit: 5, direction, after: 1 };
          await store.events.list('everyone', { ...every, filter: {} });
          for (const filter of [{}, { streamId }, { type }, { streamId, type }, { from, to }, { type, from, to }]) {
            await store.events.list(user.id, { ...every, filter });
          }
        }
      },
      areAhead: () => store.events.areAhead(1),
      setBack: () => store.events.setBack(1, 5),
      deleteOlder: () => store.events.deleteOlder(ms(1), 5),
    },
    webhooks: {
      create: () => store.webhooks.create(webhook, someReceipt(), { atMost: 5 }),
      get: () => store.webhooks.get(webhook.id, user.id),
      list: async () => [await store.webhooks.list('everyone', page), await store.webhooks.list(user.id, page)],
      ofEvent: () => store.webhooks.ofEvent(user.id, 'stream.idle', 5),
      countOf: () => store.webhooks.countOf(user.id, 5),
      change: () => store.webhooks.change(webhook, { events: ['stream.idle'] }, someReceipt()),
      delete: async () => {
        const deleted = someWebhook(user.id);
        await store.webhooks.create(deleted, someReceipt());
        await store.webhooks.delete([deleted.id], user.id, [someReceipt()]);
      },
      forgetDeleted: () => store.webhooks.forgetDeleted(5),
      claimDue: () => store.webhooks.claimDue({ leaseMs: 1, limit: 5 }),
      renewLeases: () => store.webhooks.renewLeases(1),
      release: () => store.webhooks.release(webhook.id),
      nextDueInMs: () => store.webhooks.nextDueInMs(),
      due: () => store.webhooks.due(webhook.id, 5),
      record: () => store.webhooks.record(webhook.id, []),
      settle: () => store.webhooks.settle(webhook.id, []),
      disable: () => store.webhooks.disable(webhook, 'gone', ms(1)),
      deliveries: () =>
        store.webhooks.deliveries(webhook.id, { state: 'dead' }, { limit: 5, after: { at: ms(9), id: '' } }),
      giveUpSome: () => store.webhooks.giveUpSome(webhook.id, 5),
      resendSince: () => store.webhooks.resendSince(webhook.id, ms(1), someReceipt()),
      resendSome: () => store.webhooks.resendSome({ id: webhook.id, resendAfter: 0 }, 5),
      resent: () => {},
      test: () => {},
      expire: () => store.webhooks.expire(ms(1), 5),
      deleteDead: () => store.webhooks.deleteDead(ms(1), 5),
      deleteWithoutEvent: () => store.webhooks.deleteWithoutEvent(5),
      waiting: () => store.webhooks.waiting('', 5),
      hasMoreWaiting: () => store.webhooks.hasMoreWaiting(webhook.id, 5),
      deleteDeadBeyond: async () => {
        const failing = someWebhook(user.id, { events: ['stream.created'] });
        await store.webhooks.create(failing, someReceipt());
        await store.streams.create(someStream(user.id), someReceipt());
        await store.events.number(100);
        await store.webhooks.expire(ms(Date.now() + 1000), 100);
        assert.equal(await store.webhooks.deleteDeadBeyond(failing.id, 0, 5), 1);
      },
      event: () => store.webhooks.event(newEventId()),
      logEntry: () => store.webhooks.logEntry(newWebhookLogId(), user.id),
      log: async () => [
        await store.webhooks.log(webhook.id, {}, page),
        await store.webhooks.log(webhook.id, { success: true, type: 'stream.idle' }, page),
      ],
      deleteLog: () => store.webhooks.deleteLog(ms(1), 5),
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
    // The users with a session that ended recently, each once. An index finds the rows.
    /^USE TEMP B-TREE FOR DISTINCT: select distinct user_id .* from "sessions"/,
    // Whether any key exists. The scan stops at the first.
    /^SCAN api_keys\b.*: insert into "(users|api_keys)" .* select .* not exists/,
    // Whether any key exists, or was used. The scan stops at the first.
    /^SCAN api_keys\b.*: select "id" from "api_keys" (where .*)?limit 1$/,
    // Rows that refer to a user. They are looked for only after a foreign key was violated.
    /^SCAN (sessions|streams): insert into "users" .* select/,
    // All keys, in order, which is what the caller asks for.
    /^SCAN api_keys USING INDEX api_keys_by_age: select/,
    // Users, newest first.
    /^SCAN users USING INDEX users_by_age: select/,
    // The admins, read when one is demoted. Users are few.
    /^SCAN (users|others)\b.*: update "users"/,
    // The rows of all users in the order of the index. The scan stops at the end of the page.
    /^SCAN (streams|sessions|assets|audit) USING (COVERING )?INDEX .*: select .* limit \?$/,
    // The rows of one user, which the inner query finds by an index and only up to its limit.
    /^SCAN counted: select count\(\*\) as "count" from \(select .* limit \?\) as "counted"$/,
    // Nodes are few.
    /^SCAN nodes\b.*: select "id".* from "nodes"/,
    // Every open session. The index holds no others.
    /^SCAN sessions USING INDEX sessions_open_by_age: select/,
    // Every active stream. The index holds no others.
    /^SCAN streams USING INDEX streams_active_\w+: select .* "is_active" = 1( and exists .*)?$/,
    // Every recording that is not complete. The index holds no others.
    /^SCAN assets USING INDEX assets_unsettled: select/,
    // A table of one row.
    /^SCAN event_sequence: /,
    // Events that wait to be numbered. The index holds no others, and the scan stops at the limit.
    /^SCAN events USING INDEX events_pending: /,
    /^SCAN (first|numbered|\(subquery-\d+\)): update events set/,
    // The webhooks of one user and event type.
    /^USE TEMP B-TREE FOR ORDER BY: select .* from "webhooks" where "id" in \(select "webhook_id"/,
    // The hours of one user, or of everybody, that were asked for. An index finds the rows.
    /^USE TEMP B-TREE FOR GROUP BY: select (.|\n)* from usage_hours where hour >= \? and hour < \?/,
    // The webhooks that were deleted a short time ago. There are few of them.
    /^SCAN deleted_webhooks\b.*: delete from/,
    // One row without a table.
    /^SCAN CONSTANT ROW: (insert|update|select "last" from "event_sequence" |select cast\(.* as time$)/,
  ];
  assert.deepEqual(
    scans.filter((scan) => !allowed.some((pattern) => pattern.test(scan))),
    [],
  );

  const lists = plans.filter((plan) => / from "(streams|sessions)" where .* limit \?$/.test(plan));
  assert.ok(lists.length > 100, `${lists.length} lists`);
  // Each list is read from the index that begins with its condition, and is not filtered out of a longer one.
  for (const [what, index] of [
    [/ is_active = 1/, /INDEX streams_active_/],
    [/ phase = 'live'/, /INDEX sessions_(live|by_stream)_/],
    [/ "creator_id" = \?(?!.* is_active = 1)/, /INDEX streams_by_creator_/],
    [/ "stream_id" = /, /INDEX sessions_by_stream_/],
    [/ "record" = \?/, /INDEX sessions_by_record_/],
  ] as const) {
    const asked = lists.filter(
      (plan) =>
        what.test(plan) &&
        !/ "(id|playback_id)" = \? /.test(plan) &&
        !plan.startsWith('SCALAR') &&
        !/USING INDEX sqlite_autoindex_streams/.test(plan),
    );
    assert.ok(asked.length > 0, String(what));
    assert.deepEqual(
      asked.filter((plan) => !index.test(plan.split(': ')[0]!)),
      [],
      String(what),
    );
  }
  const assetLists = plans.filter((plan) => / from "assets" where .* limit \?$/.test(plan));
  for (const [what, index] of [
    [/ "session_id" = /, /INDEX assets_by_session_/],
    [/ "stream_id" = /, /INDEX assets_by_stream_/],
    [/ "clipped_from" = /, /INDEX assets_by_origin_/],
    [/ "creator_id" = /, /INDEX assets_by_creator_/],
    [/ "phase" = /, /INDEX assets_by_phase_/],
    [/(?<!stream_id.*) "kind" = /, /INDEX assets_by_kind_/],
    [/ "stream_id" = .* "kind" \|\| '' = /, /\(stream_id=\? AND <expr>=\?/],
  ] as const) {
    const asked = assetLists.filter((plan) => what.test(plan));
    assert.ok(asked.length >= 16, `${what}: ${asked.length}`);
    assert.deepEqual(
      asked.filter((plan) => !index.test(plan.split(': ')[0]!)),
      [],
      String(what),
    );
  }
  // Of a stream with very many events or hours, or of a user with very many streams, only what was asked for is read.
  for (const [what, index] of [
    [/ from "events" where .* "stream_id" \|\| '' = /, /events_of_stream_by_type \(<expr>=\? AND type=\? AND sequence/],
    [/ from usage_hours where .* "stream_id" = /, /sqlite_autoindex_usage_hours_1 \(stream_id=\? AND hour>/],
  ] as const) {
    const asked = plans.filter(
      (plan) => what.test(plan) && !/^(SCALAR|USE TEMP)/.test(plan) && !/events_by_record/.test(plan),
    );
    assert.ok(asked.length > 0, String(what));
    assert.deepEqual(
      asked.filter((plan) => !index.test(plan.split(': ')[0]!)),
      [],
      String(what),
    );
  }
  // The index of a webhook's log has all that its list is filtered by, so rows that do not match are not read.
  const filters = plans.filter((plan) => / from "webhook_log" where .* success = \? and type = \?/.test(plan));
  assert.ok(filters.length > 0);
  for (const plan of filters) {
    const sql = plan.slice(plan.indexOf(': ') + 2).replace('select *', 'select id');
    assert.match(
      String(db.prepare(`EXPLAIN QUERY PLAN ${sql}`).get()?.detail),
      /COVERING INDEX webhook_log_of_webhook/,
    );
  }
  // A later page starts at its first row, instead of reading all rows before it.
  const later = lists.filter(
    (plan) => /\("(created_at|last_seen)", "id"\) [<>] \(\?, \?\)/.test(plan) && !/^SCALAR|autoindex/.test(plan),
  );
  assert.ok(later.length > 50);
  assert.deepEqual(
    later.filter((plan) => !/\((created_at|last_seen),id\)[<>]\(\?,\?\)/.test(plan.split(': ')[0]!)),
    [],
  );
});

type Nouns =
  | 'users'
  | 'apiKeys'
  | 'streams'
  | 'sessions'
  | 'samples'
  | 'usage'
  | 'assets'
  | 'nodes'
  | 'publishers'
  | 'idempotency'
  | 'audit'
  | 'events'
  | 'webhooks';

/** Reads every kind of list: each scope, order, direction and filter, the first page and a later one. */
async function everyList(records: Pick<Store['streams'] | Store['sessions'], 'list'>, user: User, stream: Stream) {
  const { id, playbackId } = stream;
  const bounds = [{}, { from: ms(1), to: ms(2) }];
  const others = [
    {},
    { id },
    { playbackId },
    { creatorId: 'me' },
    { parentId: id },
    { record: true },
    { parentId: id, record: true },
  ];
  const activities = [{}, { isActive: true }, { isActive: false }];
  for (const scope of [user.id, 'everyone'] as const) {
    for (const order of LIST_ORDERS) {
      for (const direction of ['asc', 'desc'] as const) {
        for (const filter of bounds.flatMap((a) =>
          others.flatMap((b) => activities.map((c) => ({ ...a, ...b, ...c }))),
        )) {
          for (const after of [undefined, { at: ms(1), id }]) {
            await records.list(scope, { limit: 5, order, direction, filter, after });
          }
        }
      }
    }
  }
}

/** Reads every kind of list of assets. */
async function everyAssetList(assets: Store['assets'], user: User, { id, playbackId }: Stream) {
  const filters: AssetFilter[] = [
    {},
    { id: id as string as AssetId },
    { playbackId },
    { clippedFrom: playbackId },
    { sessionId: id as string as SessionId },
    { streamId: id, kind: 'clip' },
    { sessionId: id as string as SessionId, kind: 'clip' },
    { creatorId: 'me' },
    { phase: 'ready' },
    { kind: 'clip' },
    { creatorId: 'me', phase: 'ready', kind: 'clip' },
  ];
  for (const scope of [user.id, 'everyone'] as const) {
    for (const order of ASSET_ORDERS) {
      for (const direction of ['asc', 'desc'] as const) {
        for (const filter of filters) {
          for (const after of [undefined, { at: ms(1), id }]) {
            await assets.list(scope, { limit: 5, order, direction, filter, after });
            await assets.list(scope, {
              limit: 5,
              order,
              direction,
              filter: { ...filter, from: ms(1), to: ms(2) },
              after,
            });
          }
        }
      }
    }
  }
}

it('refuses values that SQLite would store as something else', async () => {
  await using open = await openWithFaults();
  const { engine, store, user } = open;
  const sql = 'insert into "users" values (?, ?, ?, 0, 0)';
  for (const value of [new Date(0), {}, [], undefined, true, 1n, Number.NaN, '\ud83c']) {
    const parameters = [value, 'name', 1] as never[];
    await assert.rejects(engine.write([{ sql, parameters }]), TypeError);
    await assert.rejects(engine.read({ sql: 'select ?', parameters: [value as never] }), TypeError);
  }
  await assert.rejects(store.streams.create(someStream(user.id, { name: '\ud83c' }), someReceipt()), TypeError);
});

/** Repeats a call until the store accepts it. */
async function retried<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!away(error) && !unknown(error)) throw error;
    }
  }
}

/** Waits until a condition holds. Only the test runner's time limit ends the wait otherwise. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}
