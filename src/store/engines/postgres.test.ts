import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Client } from 'pg';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { recoversFromClockAhead } from '#store/contract/clock-ahead.contract.ts';
import { isMillraceError, PATIENT } from '#store/contract/suite.contract.ts';
import { type Engine, type EngineOptions, type Query, Unchanged, UniqueViolation } from '#store/engine.ts';
import { MIGRATIONS } from '#store/migrations.ts';
import { StoreOpenError, type StoreOpenErrorCode } from '#store/open-error.ts';
import { openStore } from '#store/open-store.ts';
import { eventQueries } from '#store/queries/events.ts';
import { storeContract } from '#store/store.contract.ts';
import { createLogger, silentLogger } from '#telemetry/logger.ts';
import { type PostgresServer, startPostgres } from '#test/support/postgres.ts';
import { someNode, someReceipt, someStream, someUser, someWebhook } from '#test/support/sample-records.ts';
import { startTcpProxy } from '#test/support/tcp-proxy.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { kyselyOn, postgresCompiler } from './postgres/dialect.ts';
import { Away } from './postgres/failure.ts';
import { Lane } from './postgres/lane.ts';
import { setUp } from './postgres/session.ts';
import { statementOf } from './postgres/statements.ts';
import { targetOf } from './postgres/target.ts';
import { openPostgres } from './postgres.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-postgres-data-'));
const away = isMillraceError('store_unavailable');
const unknown = isMillraceError('outcome_unknown');
/** When a connection breaks during a write, the error depends on the moment at which it breaks. */
const awayOrUnknown = (error: unknown) => away(error) || unknown(error);
let server: PostgresServer;
/** The URL of a database with the tables of an empty store. It is copied for tests that are not about creating the tables. */
let emptyStore: string;
/** The URL of another such database, which also has the table `things`. */
let withThings: string;
before(async () => {
  server = await startPostgres();
  emptyStore = await server.newDatabase();
  await (await openStoreOn(emptyStore))[Symbol.asyncDispose]();
  withThings = await server.newDatabase(emptyStore);
  await server.query('create table things (id text primary key, n bigint not null)', withThings);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

const newFolder = () => mkdtempSync(join(root, 'data-'));

async function optionsOf(change: Partial<EngineOptions> = {}): Promise<EngineOptions> {
  return {
    dataDir: newFolder(),
    databaseUrl: change.databaseUrl ?? new Secret(await server.newDatabase(emptyStore)),
    exclusive: true,
    clock: systemClock,
    logger: silentLogger,
    ...PATIENT,
    maxPending: 1000,
    closeTimeoutMs: 1000,
    ...change,
  };
}

/** Opens an engine on a new database with a table `things`, where `id` is the key and `n` a number. */
async function opened(change: Partial<EngineOptions> = {}): Promise<Engine & { readonly url: string }> {
  const url = await server.newDatabase(withThings);
  const engine = await openPostgres(await optionsOf({ databaseUrl: new Secret(url), ...change }));
  return { ...engine, url };
}

const insert = (id: string, n = 0): Query => ({ sql: 'insert into things values ($1, $2)', parameters: [id, n] });
const update = (id: string, n: number): Query => ({
  sql: 'update things set n = $1 where id = $2',
  parameters: [n, id],
});
const things = (engine: Engine) =>
  engine.read<{ id: string; n: number }>({ sql: 'select id, n from things order by id', parameters: [] });

/** Locks every row of `things`. @returns a function that unlocks them */
async function lockThings(url: string): Promise<() => Promise<void>> {
  const blocker = assert.rejects(
    server.query('begin; select from things for update; select pg_sleep(600)', url),
    /cancel/,
  );
  const sleeping = "from pg_stat_activity where query like '%pg_sleep(600)' and wait_event = 'PgSleep'";
  await waitFor(async () => (await server.query(`select 1 ${sleeping}`)).length > 0, { what: 'the lock to be held' });
  return async () => {
    await server.query(`select pg_cancel_backend(pid) ${sleeping}`);
    await blocker;
  };
}

const openStoreOn = (url: string) =>
  openStore({ dataDir: newFolder(), databaseUrl: new Secret(url), exclusive: true, logger: silentLogger, ...PATIENT });

storeContract('PostgreSQL', async () => openStoreOn(await server.newDatabase(emptyStore)));

describe('a write', () => {
  it('is all or nothing', async () => {
    await using engine = await opened();
    assert.deepEqual(await engine.write([insert('a'), insert('b'), update('a', 5)]), [
      { changes: 1 },
      { changes: 1 },
      { changes: 1 },
    ]);
    await assert.rejects(engine.write([insert('c'), insert('a'), insert('d')]), UniqueViolation);
    await assert.rejects(engine.write([insert('e'), { ...update('nobody', 1), mustChange: 1 }]), Unchanged);
    await assert.rejects(engine.write([insert('f'), { sql: 'select nothing', parameters: [] }]), /store query/);
    assert.deepEqual(await things(engine), [
      { id: 'a', n: 5 },
      { id: 'b', n: 0 },
    ]);
    await engine.write([insert('g'), { ...update('g', 7), mustChange: 1 }]);
    assert.deepEqual((await things(engine)).at(-1), { id: 'g', n: 7 });
  });

  it('repeats nothing of a row that it could not write', async () => {
    await using engine = await opened();
    await engine.write([insert('planted-secret')]);
    for (const bad of [insert('planted-secret'), { ...insert('x'), parameters: ['x', 'planted-secret'] }]) {
      await assert.rejects(engine.write([bad]), (error) => !inspect(error, { depth: 9 }).includes('planted-secret'));
    }
  });

  it('is tried again after a deadlock', async () => {
    await using engine = await opened();
    await server.query(`alter database ${new URL(engine.url).pathname.slice(1)} set deadlock_timeout = '10ms'`);
    await engine.write([insert('a'), insert('b')]);
    await server.query('create sequence tries', engine.url);
    // A sequence keeps counting when its transaction is undone. Waits until both writes have changed their first row.
    const bothBegun = `do $$ begin
      perform nextval('tries');
      while (select last_value from tries) < 2 loop perform pg_sleep(0.001); end loop;
    end $$`;
    const next: Query = { sql: bothBegun, parameters: [] };
    await Promise.all([
      engine.write([update('a', 1), next, update('b', 1)]),
      engine.write([update('b', 2), next, update('a', 2)]),
    ]);
    const [{ tries } = {}] = await server.query('select last_value as tries from tries', engine.url);
    assert.ok(Number(tries) > 2, `${String(tries)} tries`);
  });

  it('survives a change of the tables under its prepared queries', async () => {
    await using engine = await opened();
    const all: Query = { sql: 'select * from things', parameters: [] };
    await engine.write([insert('a')]);
    await engine.read(all);
    await server.query('alter table things add column more text', engine.url);
    assert.deepEqual(await engine.read(all), [{ id: 'a', n: 0, more: null }]);
  });

  it('is durable when it resolves, for any settings of the server', async () => {
    const options = await optionsOf();
    const url = options.databaseUrl!.reveal();
    await server.query(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`);
    await using engine = await openPostgres(options);
    const setting: Query = { sql: "select current_setting('synchronous_commit') as it", parameters: [] };
    assert.deepEqual(await engine.read(setting), [{ it: 'on' }]);
  });
});

describe('a write that gets no answer', () => {
  /** An engine whose connections go through a proxy. */
  async function proxied(change: Partial<EngineOptions> = {}) {
    const direct = await opened();
    const proxy = await startTcpProxy(server.port);
    const url = new URL(direct.url);
    url.port = String(proxy.port);
    const engine = await openPostgres(await optionsOf({ databaseUrl: new Secret(url.href), ...change }));
    const close = async () => {
      proxy.close();
      await Promise.all([engine[Symbol.asyncDispose](), direct[Symbol.asyncDispose]()]);
    };
    return { engine, direct, proxy, [Symbol.asyncDispose]: close };
  }
  /** Three forms of a write: one query, several, and one whose changes are counted before the commit. */
  const shapes = {
    'of one query': [insert('a')],
    'of several queries': [insert('a'), insert('b')],
    'that must change something': [insert('b'), { ...insert('a'), mustChange: 1 }],
  };

  for (const [shape, queries] of Object.entries(shapes)) {
    it(`has an unknown outcome when its commit was sent, ${shape}`, async () => {
      await using open = await proxied();
      const { engine, direct, proxy } = open;
      await engine.write([]).then(() => engine.write([update('nothing', 1)]));
      // The server carries out the write, but its answer never arrives.
      proxy.onRequest(
        (bytes) => /commit|insert/.test(bytes) && proxy.muteAnswers(/commit/.test(bytes) || queries.length === 1),
      );
      const write = assert.rejects(engine.write(queries), unknown);
      await waitFor(async () => (await things(direct)).length === queries.length, { what: 'the write to happen' });
      proxy.breakAll();
      await write;
    });
  }

  it('is known not to have happened when the connection broke before its commit was sent', async () => {
    await using open = await proxied();
    const { engine, direct, proxy } = open;
    await engine.write([update('nothing', 1)]);
    proxy.onRequest((bytes) => bytes.includes('begin') && proxy.muteAnswers(true));
    const write = assert.rejects(engine.write([insert('a'), insert('b')]), away);
    await waitFor(() => proxy.isMuted, { what: 'the transaction to begin' });
    proxy.breakAll();
    await write;
    assert.deepEqual(await things(direct), []);
  });

  it('is known not to have happened when it timed out on the server, or the server was never reached', async () => {
    await using open = await proxied();
    const { engine, direct, proxy } = open;
    await direct.write([insert('a')]);
    await server.query(`alter database ${new URL(direct.url).pathname.slice(1)} set lock_timeout = '50ms'`);
    await using impatient = await openPostgres(await optionsOf({ databaseUrl: new Secret(direct.url) }));
    const unlock = await lockThings(direct.url);
    await assert.rejects(impatient.write([update('a', 9)]), away);
    await unlock();
    proxy.close();
    await assert.rejects(engine.write([update('a', 9)]), away);
    assert.deepEqual(await things(direct), [{ id: 'a', n: 0 }]);
  });
});

describe('values', () => {
  it('are read as numbers and text, as from SQLite', async () => {
    await using engine = await opened();
    await engine.write([insert('a', 1_700_000_000_123), insert('é\u{1f600}', -1)]);
    const totals = 'select count(*) as rows, sum(n) as sum, max(n) > 0 as some, null as none from things';
    assert.deepEqual(await engine.read({ sql: totals, parameters: [] }), [
      { rows: 2, sum: 1_700_000_000_122, some: 1, none: null },
    ]);
    const [{ now } = { now: 0 }] = await engine.read<{ now: number }>(
      sql<{ now: number }>`select ${engine.now} as now`.compile(engine.compiler) as unknown as Query<{ now: number }>,
    );
    assert.ok(Math.abs(now - Date.now()) < 60_000, String(now));
  });

  it('that text cannot hold are not found, and are refused by writes', async () => {
    await using engine = await opened();
    const byId: Query = { sql: 'select id from things where id = $1', parameters: ['a\0b'] };
    assert.deepEqual(await engine.read(byId), []);
    await assert.rejects(engine.write([insert('a\0b')]), /store query/);
  });

  it('that would be stored as something else are refused', async () => {
    await using engine = await opened();
    for (const value of [new Date(0), {}, [], undefined, true, 1n, Number.NaN, '\ud83c']) {
      await assert.rejects(engine.write([{ ...insert('a'), parameters: [value as never, 1] }]), TypeError);
      await assert.rejects(engine.read({ sql: 'select $1::text', parameters: [value as never] }), TypeError);
    }
  });
});

describe('announcements', () => {
  it('reach every process in their order, and only when their write happened', async () => {
    await using one = await opened();
    await using other = await openPostgres(await optionsOf({ databaseUrl: new Secret(one.url) }));
    const heard: Record<string, (string | undefined)[]> = { one: [], other: [] };
    using _one = one.listen((announcement) => heard.one!.push(announcement));
    using _other = other.listen((announcement) => heard.other!.push(announcement));
    await one.write([insert('a')], ['first "quoted"', 'second \u{1f600}']);
    await assert.rejects(one.write([insert('a')], ['never']), UniqueViolation);
    await one.write([], ['third']);
    await other.write([insert('b')], ['x'.repeat(4000)]);
    const all = ['first "quoted"', 'second \u{1f600}', 'third', 'x'.repeat(4000)];
    await waitFor(() => heard.one!.length >= 4 && heard.other!.length >= 4, { what: 'the announcements' });
    assert.deepEqual(heard, { one: all, other: all });
  });

  it('are received after a start during which this process was held up for as long as a later connection may take', async () => {
    const proxy = await startTcpProxy(server.port);
    try {
      let isHeldUp = false;
      using _ = proxy.onRequest((bytes) => {
        if (isHeldUp || !bytes.includes('listen millrace')) return;
        isHeldUp = true;
        // A later connection has three seconds.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3500);
      });
      const url = Object.assign(new URL(await server.newDatabase(emptyStore)), { port: String(proxy.port) }).href;
      await using engine = await openPostgres(await optionsOf({ databaseUrl: new Secret(url) }));
      assert.ok(isHeldUp);
      const heard: (string | undefined)[] = [];
      using _listening = engine.listen((announcement) => heard.push(announcement));
      await engine.write([], ['it']);
      await waitFor(() => heard.includes('it'), { what: 'the announcement' });
    } finally {
      proxy.close();
    }
  });

  it('are not delivered to a disposed listener', async () => {
    await using engine = await opened();
    const heard: (string | undefined)[] = [];
    const listening = engine.listen(() => assert.fail('called after it was disposed'));
    listening[Symbol.dispose]();
    using _ = engine.listen((announcement) => heard.push(announcement));
    await engine.write([], ['it']);
    await waitFor(() => heard.length > 0, { what: 'the announcement' });
  });
});

describe('an outage', () => {
  /** A server that the tests of this group stop and freeze. */
  let own: PostgresServer;
  before(async () => {
    own = await startPostgres();
  });
  after(() => own[Symbol.asyncDispose]());

  it('makes calls reject, is logged once, and ends by itself when the server is back', async () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => lines.push(line) });
    const databaseUrl = new Secret(await own.newDatabase());
    await using engine = await openPostgres(await optionsOf({ databaseUrl, logger }));
    await own.query('create table things (id text primary key, n bigint not null)', databaseUrl.reveal());
    const heard: (string | undefined)[] = [];
    using _ = engine.listen((announcement) => heard.push(announcement));
    // Idle connections that break must not end the process.
    await Promise.all(Array.from({ length: 6 }, (__, n) => engine.write([insert(`before ${n}`)])));
    for (const how of [undefined, 'crash'] as const) {
      await own.stop(how);
      await assert.rejects(engine.write([insert('while away')]), awayOrUnknown);
      await assert.rejects(things(engine), away);
      await own.start();
      await waitFor(() => engine.write([]).then(() => things(engine).then(Boolean, () => false)), { what: 'reads' });
      await waitFor(() => engine.write([insert(`after ${how}`)]).then(Boolean, () => false), { what: 'writes' });
      await waitFor(() => heard.includes(undefined), { what: 'the notice that announcements may have been missed' });
      heard.length = 0;
      await engine.write([], [`heard ${how}`]);
      await waitFor(() => heard.includes(`heard ${how}`), { what: 'announcements' });
    }
    assert.equal((await things(engine)).length, 8);
    assert.ok(lines.some((line) => line.includes('store unavailable')));
    for (const planted of [own.password, own.user]) assert.ok(!lines.some((line) => line.includes(planted)));
  });

  it('with a frozen server makes calls reject at their time limit, and ends by itself', async () => {
    const databaseUrl = new Secret(await own.newDatabase());
    await using engine = await openPostgres(await optionsOf({ databaseUrl, readTimeoutMs: 200, writeTimeoutMs: 300 }));
    await own.query(
      "create table things (id text primary key, n bigint not null); insert into things values ('a', 0)",
      databaseUrl.reveal(),
    );
    await waitFor(() => engine.write([update('a', 0)]).then(Boolean, () => false), { what: 'a write in time' });
    own.pause();
    const calls = Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? things(engine) : engine.write([insert(`${n}`)])));
    await Promise.all(calls.map((call, n) => assert.rejects(call, n % 2 === 0 ? away : awayOrUnknown)));
    own.resume();
    await waitFor(() => engine.write([update('a', 1)]).then(Boolean, () => false), { what: 'writes' });
    await waitFor(() => things(engine).then(Boolean, () => false), { what: 'reads' });
  });

  it('of commits only costs the server no more connections and no read, however long it lasts', async () => {
    const databaseUrl = new Secret(await own.newDatabase());
    await using engine = await openPostgres(await optionsOf({ databaseUrl, writeTimeoutMs: 1000 }));
    await own.query('create table things (id text primary key, n bigint not null)', databaseUrl.reveal());
    // Commits wait for a standby that does not exist, as for one that is being restarted.
    const follow = async (standby: string) => {
      await own.query(`alter system set synchronous_standby_names = '${standby}'`);
      await own.query('select pg_reload_conf()');
    };
    const waiting = async () =>
      (await own.query("select 1 from pg_stat_activity where wait_event = 'SyncRep'", databaseUrl.reveal())).length;
    const writeMany = async () => {
      const writes = Array.from({ length: 12 }, () => engine.write([insert(String(Math.random()))]));
      return Promise.allSettled(writes);
    };
    await follow('nobody');
    try {
      const areStuck = async () => (await writeMany()) && (await waiting()) >= 8;
      await waitFor(areStuck, { what: 'the commits of all connections to wait' });
      for (let round = 0; round < 4; round += 1) {
        const outcomes = await writeMany();
        assert.ok(outcomes.every((each) => each.status === 'rejected' && awayOrUnknown(each.reason)));
      }
      // A process that has not read its queries when its connection is closed counts as idle, and its commit waits later. On a busy machine
      // there may be one or two, but never another set of connections.
      assert.ok((await waiting()) < 12, `${await waiting()} commits wait`);
      await waitFor(() => things(engine).then(Boolean, () => false), { what: 'a read' });
    } finally {
      await follow('');
    }
    await waitFor(() => engine.write([insert('last')]).then(Boolean, () => false), { what: 'writes' });
    await waitFor(async () => (await waiting()) === 0, { what: 'the commits that waited' });
  });

  it('does not keep the engine from closing', async () => {
    const databaseUrl = new Secret(await own.newDatabase());
    const engine = await openPostgres(await optionsOf({ databaseUrl, closeTimeoutMs: 50 }));
    await engine.read({ sql: 'select 1', parameters: [] });
    own.pause();
    const call = assert.rejects(engine.read({ sql: 'select 1', parameters: [] }), away);
    await engine[Symbol.asyncDispose]();
    await call;
    await assert.rejects(engine.read({ sql: 'select 1', parameters: [] }), away);
    own.resume();
  });
});

describe('a new connection', () => {
  it('counts as busy only processes of its own user and database, and never its own, which a pooler may hand out again', async () => {
    const asking = new Client({ connectionString: emptyStore });
    const [same, other] = [emptyStore, withThings].map((connectionString) => new Client({ connectionString }));
    const clients = [asking, same!, other!];
    await Promise.all(clients.map((client) => client.connect()));
    try {
      const pids: number[] = [];
      for (const client of clients) {
        await client.query('begin');
        pids.push((await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid);
      }
      const { busy, backend } = await setUp(asking, 60_000, pids);
      assert.deepEqual([backend, busy], [pids[0], [pids[1]]]);
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });
});

describe('a lane', () => {
  it('does not time out a call whose answer came while this process was held up', async () => {
    const url = await server.newDatabase();
    const timeoutMs = 3000;
    const lane = new Lane({
      role: 'test',
      target: targetOf(new Secret(url)),
      connections: 1,
      clock: systemClock,
      logger: silentLogger,
      timeoutMs,
      maxPending: 1,
      closeTimeoutMs: 1000,
    });
    const answering = createServer().listen(0, '127.0.0.1');
    await once(answering, 'listening');
    const near = connect((answering.address() as AddressInfo).port, '127.0.0.1');
    const [[far]] = (await Promise.all([once(answering, 'connection'), once(near, 'connect')])) as [[Socket], unknown];
    try {
      // The connection is made before that, so that making it uses up nothing of the timeout.
      await waitFor(() => lane.run((client) => client.query('select 1')).then(Boolean, () => false), {
        what: 'a call',
      });
      const answered = await lane.run(async () => {
        far.write('the answer');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 100);
        const [answer] = (await once(near, 'data')) as [Buffer];
        return answer.toString();
      });
      assert.equal(answered, 'the answer');
    } finally {
      near.destroy();
      answering.close();
      await lane.close();
    }
  });

  it('lets calls wait for its working connections while the server is still busy with an abandoned one', async () => {
    const url = await server.newDatabase();
    const lane = new Lane({
      role: 'test',
      target: targetOf(new Secret(url)),
      connections: 2,
      clock: systemClock,
      logger: silentLogger,
      timeoutMs: 60_000,
      maxPending: 100,
      closeTimeoutMs: 1000,
    });
    const sleeping = "from pg_stat_activity where query like '%pg_sleep(601)' and wait_event = 'PgSleep'";
    const abandoning = lane.run(async (client) => {
      client.query('set statement_timeout = 0; select pg_sleep(601)').catch(() => {});
      await waitFor(async () => (await server.query(`select 1 ${sleeping}`)).length > 0, { what: 'the query' });
      throw new Away('abandoned');
    });
    await assert.rejects(abandoning, away);
    const { promise: connected, resolve: onConnected } = Promise.withResolvers<void>();
    const working = lane.run(async (client) => {
      await client.query('select 1');
      onConnected();
      await client.query('select pg_sleep(0.3)');
    });
    await connected;
    const countOf = async () => lane.run(async (client) => (await client.query('select 1')).rowCount);
    try {
      assert.deepEqual(await Promise.all(Array.from({ length: 12 }, countOf)), Array(12).fill(1));
      await working;
    } finally {
      await server.query(`select pg_cancel_backend(pid) ${sleeping}`);
    }
    // Both places are used again once the server has finished.
    const backend = () =>
      lane.run(async (client) => (await client.query('select pg_backend_pid() as pid, pg_sleep(0.05)')).rows[0]!.pid);
    const areBothUsed = async () => new Set(await Promise.all([backend(), backend()])).size === 2;
    await waitFor(areBothUsed, { what: 'two connections' });
    await lane.close();
  });
});

describe('overload', () => {
  it('by waiting calls is refused', async () => {
    await using engine = await opened({ maxPending: 20 });
    const calls = await Promise.allSettled(Array.from({ length: 25 }, (_, n) => engine.write([insert(`${n}`)])));
    const refused = calls.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 5);
    for (const call of refused) assert.ok(call.status === 'rejected' && away(call.reason));
  });

  it('by slow writes delays neither reads nor later writes', async () => {
    await using engine = await opened({ writeTimeoutMs: 300 });
    await server.query("insert into things values ('a', 0)", engine.url);
    const unlock = await lockThings(engine.url);
    const stuck = Array.from({ length: 12 }, (_, n) => assert.rejects(engine.write([update('a', n)]), awayOrUnknown));
    assert.equal((await things(engine)).length, 1);
    await Promise.all(stuck);
    await unlock();
    // A write that timed out may still be carried out a moment later.
    const isDone = async () => {
      const wrote = await engine.write([update('a', 99)]).then(Boolean, () => false);
      return wrote && (await things(engine))[0]?.n === 99;
    };
    await waitFor(isDone, { what: 'a write' });
  });

  it('by writes that wait costs no node its lease', async () => {
    const url = await server.newDatabase(emptyStore);
    await using store = await openStoreOn(url);
    const node = someNode();
    await store.nodes.renew(node, 60_000);
    const user = await store.users.ensure(someUser());
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    let writes: Promise<unknown>[] = [];
    try {
      await blocker.query(`begin; select from users where id = '${user.id}' for update`);
      writes = Array.from({ length: 40 }, (_, n) => store.users.change(user.id, { name: `name ${n}` }, someReceipt()));
      const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      const allWait = async () => (await server.query(waits, url)).length === 8;
      await waitFor(allWait, { what: 'all connections to wait' });
      assert.deepEqual(await store.nodes.renew(node, 60_000), { hadLapsed: false });
      assert.deepEqual(await store.nodes.lapsed(), []);
      await waitFor(allWait, { what: 'all connections to wait again' });
    } finally {
      await blocker.end();
    }
    await Promise.all(writes);
  });

  it('by too many connections is treated as an outage', async () => {
    const url = new URL(await server.newDatabase());
    await server.query(
      `create role planted_user login password 'small-secret' connection limit 2;
       alter database ${url.pathname.slice(1)} owner to planted_user`,
    );
    const databaseUrl = new Secret(Object.assign(url, { username: 'planted_user', password: 'small-secret' }).href);
    await using engine = await openPostgres(await optionsOf({ databaseUrl }));
    const one: Query = { sql: 'select 1 as one', parameters: [] };
    // Connections from opening the engine may still be closing.
    const canRead = () => engine.read(one).then(Boolean, () => false);
    await waitFor(canRead, { what: 'a first read' });
    const reads = await Promise.allSettled(Array.from({ length: 4 }, () => engine.read(one)));
    const refused = reads.flatMap((read) => (read.status === 'rejected' ? [read.reason as unknown] : []));
    assert.ok(refused.length > 0 && refused.length < 4, String(refused.length));
    for (const error of refused) assert.ok(away(error) && !inspect(error, { depth: 9 }).includes('planted_user'));
    await waitFor(canRead, { what: 'a read' });
  });
});

it('shows new events to readers who have passed what a promoted standby lacks, after the documented statement', async () => {
  const documented = readFileSync(join(import.meta.dirname, '../../../docs/4-operations.md'), 'utf8');
  const raise = /run `(update event_sequence [^`]+)`/.exec(documented)?.[1];
  assert.ok(raise !== undefined);
  const url = await server.newDatabase(emptyStore);
  await using store = await openStoreOn(url);
  const user = await store.users.ensure(someUser());
  const add = async (count: number) => {
    for (let n = 0; n < count; n += 1) await store.streams.create(someStream(user.id), someReceipt());
    await store.events.number(10);
  };
  await add(4);
  const after = await store.events.last();
  await server.query('delete from events where sequence > 2; update event_sequence set last = 2', url);
  await server.query(raise, url);
  await add(1);
  assert.equal((await store.events.list(user.id, { limit: 10, direction: 'asc', after, filter: {} })).length, 1);
});

it('recovers from a clock that was ahead while events were stored', async () => {
  const url = await server.newDatabase(emptyStore);
  await using store = await openStoreOn(url);
  await recoversFromClockAhead(store, (sql) => server.query(sql, url));
});

it('keeps a delivery due that is made while the lease of its webhook is released', async () => {
  const url = await server.newDatabase(emptyStore);
  await using store = await openStoreOn(url);
  const user = await store.users.ensure(someUser());
  const webhook = someWebhook(user.id, { events: ['stream.created'] });
  await store.webhooks.create(webhook, someReceipt());
  const addEvent = () => store.streams.create(someStream(user.id), someReceipt());
  await addEvent();
  await store.events.number(10);
  await store.webhooks.claimDue({ leaseMs: 600_000, limit: 10 });
  const due = await store.webhooks.due(webhook.id, 10);
  await store.webhooks.settle(
    webhook.id,
    due.map(({ event }) => ({ sequence: event.sequence, result: { type: 'delivered' } })),
  );

  await addEvent();
  const numbering = new Client({ connectionString: url });
  await numbering.connect();
  const now = sql<Milliseconds>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  const events = eventQueries(postgresCompiler(), now);
  let releasing: Promise<void>;
  try {
    await numbering.query('begin');
    for (const query of [events.holdSequence({}), events.number({ limit: 10 }), events.deliver({})]) {
      await numbering.query(statementOf(query));
    }
    await numbering.query(statementOf(events.wakeWebhooks({})));
    let isReleased = false;
    releasing = store.webhooks.release(webhook.id).then(() => {
      isReleased = true;
    });
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await waitFor(async () => isReleased || (await server.query(waits, url)).length > 0, { what: 'the release' });
    await numbering.query(statementOf(events.advance({})));
    await numbering.query('commit');
  } finally {
    await numbering.end();
  }
  await releasing;
  assert.equal((await store.webhooks.due(webhook.id, 10)).length, 1);
  assert.ok((await store.webhooks.nextDueInMs())! <= 0);
});

describe('opening', () => {
  it('by five servers at once creates the tables once', async () => {
    const url = await server.newDatabase();
    // They share nothing but the database, as if each were a process of its own.
    const stores = await Promise.all(Array.from({ length: 5 }, () => openStoreOn(url)));
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
    const done = await server.query('select name from kysely_migration', url);
    assert.equal(new Set(done.map(({ name }) => name)).size, done.length);
  });

  it('waits for another server and migrates, whatever time limits the role or the database has', async () => {
    const url = await server.newDatabase();
    const name = new URL(url).pathname.slice(1);
    const known = await server.query("select 1 from pg_settings where name = 'transaction_timeout'");
    const limits = ['statement_timeout', 'idle_in_transaction_session_timeout'];
    if (known.length > 0) limits.push('transaction_timeout');
    const other = new Client({ connectionString: url });
    await other.connect();
    try {
      // The lock of a process that is opening the database.
      await other.query('select pg_advisory_lock($1, $2)', [0x6d_69_6c_6c, 1]);
      for (const limit of limits) await server.query(`alter database ${name} set ${limit} = '1s'`);
      const opening = openStore({
        dataDir: newFolder(),
        databaseUrl: new Secret(url),
        exclusive: false,
        logger: silentLogger,
      });
      let failure: unknown;
      opening.catch((error: unknown) => {
        failure = error;
      });
      const waits = `select 1 from pg_stat_activity where datname = '${name}' and wait_event = 'advisory'
        and clock_timestamp() - query_start > interval '1500ms'`;
      const waited = async () => failure !== undefined || (await server.query(waits)).length > 0;
      await waitFor(waited, { what: 'the second process to wait' });
      await other.query('select pg_advisory_unlock_all()');
      await (await opening)[Symbol.asyncDispose]();
    } finally {
      await other.end();
    }
  });

  it('makes names in a database of an older version searchable, in every alphabet', async () => {
    const databaseUrl = new Secret(await server.newDatabase());
    const names = ['Ärger', 'plain', ...Array.from({ length: 600 }, (_, n) => `Übung ${n}`)];
    const client = new Client({ connectionString: databaseUrl.reveal() });
    await client.connect();
    try {
      const provider = { getMigrations: async () => MIGRATIONS };
      const { error } = await new Migrator({ db: kyselyOn(client), provider }).migrateTo('0003-shares');
      assert.equal(error, undefined);
      await client.query("insert into users (id, name, created_at) values ('u', 'u', 1)");
      await client.query(
        `insert into streams (id, user_id, name, created_at, stream_key, stream_key_hash, playback_id, created_by_token_name,
           profiles, is_active, last_seen, suspended)
         select name, 'u', name, 1, name, name, name, '', '[]', 0, 0, 0 from unnest($1::text[]) as name`,
        [names],
      );
    } finally {
      await client.end();
    }
    await using store = await openStore({ dataDir: newFolder(), databaseUrl, exclusive: true, logger: silentLogger });
    const count = (name: string) => store.streams.count('everyone', { name }, 'createdAt');
    assert.deepEqual([await count('äRG'), await count('PLAIN'), await count('üBUNG')], [1, 1, 600]);
  });

  it('makes webhooks due of which deliveries waited without a due time', async () => {
    const databaseUrl = new Secret(await server.newDatabase());
    const client = new Client({ connectionString: databaseUrl.reveal() });
    const user = someUser();
    const enabled = { events: [], createdAt: ms(1) };
    const [waiting, idle, disabled] = [
      someWebhook(user.id, enabled),
      someWebhook(user.id, enabled),
      someWebhook(user.id, { ...enabled, disabled: { at: ms(1), reason: 'user' } }),
    ];
    await client.connect();
    try {
      const provider = { getMigrations: async () => MIGRATIONS };
      const { error } = await new Migrator({ db: kyselyOn(client), provider }).migrateTo(
        '0009-health-samples-and-attempts',
      );
      assert.equal(error, undefined);
      for (const { id, disabled: since } of [waiting, idle, disabled]) {
        await client.query(
          `insert into webhooks (id, user_id, name, url, created_at, events, shared_secret, disabled_at, disabled_reason)
           values ($1, $2, '', '', 1, '[]', '', $3, $4)`,
          [id, user.id, since?.at, since?.reason],
        );
      }
      const deliver = 'insert into webhook_deliveries values ($1, 1, $2, 0, 1, 1)';
      for (const { id } of [waiting, disabled]) await client.query(deliver, [id, 'pending']);
      await client.query(deliver, [idle.id, 'dead']);
    } finally {
      await client.end();
    }
    await using store = await openStore({ dataDir: newFolder(), databaseUrl, exclusive: true, logger: silentLogger });
    assert.deepEqual(
      (await store.webhooks.claimDue({ leaseMs: 1000, limit: 10 })).map(({ id }) => id),
      [waiting.id],
    );
  });

  it('is refused while another server holds the folder, which a command may use', async () => {
    const options = await optionsOf();
    const engine = await openPostgres(options);
    await assert.rejects(openPostgres(options), opensWith('in_use'));
    await (await openPostgres({ ...options, exclusive: false }))[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    await (await openPostgres(options))[Symbol.asyncDispose]();
    assert.deepEqual(readdirSync(options.dataDir), ['millrace.lock']);
  });

  it('refuses a database of a newer Millrace', async () => {
    const options = await optionsOf();
    await (await openPostgres(options))[Symbol.asyncDispose]();
    const future = "insert into kysely_migration values ('9999-from-the-future', '2099-01-01')";
    await server.query(future, options.databaseUrl!.reveal());
    for (const exclusive of [true, false]) {
      await assert.rejects(openPostgres({ ...options, exclusive }), opensWith('newer_schema'));
    }
  });

  it('changes no tables under a running server', async () => {
    const options = await optionsOf();
    const url = options.databaseUrl!.reveal();
    const running = await openPostgres(options);
    // Removing the newest migration makes this program newer than the database.
    await server.query('delete from kysely_migration where name in (select max(name) from kysely_migration)', url);
    await assert.rejects(openPostgres({ ...options, dataDir: newFolder() }), opensWith('outdated_schema'));
    await assert.rejects(openPostgres({ ...options, exclusive: false }), opensWith('outdated_schema'));
    await running[Symbol.asyncDispose]();
  });

  it('explains in one sentence what is wrong, without the user or the password', async () => {
    const url = new URL(await server.newDatabase());
    const changed = (change: Partial<URL>) => Object.assign(new URL(url), change).href;
    await server.query("create role guest login password 'guest-secret'");
    const wrong: readonly (readonly [StoreOpenErrorCode, string])[] = [
      ['no_connection', changed({ port: '1' })],
      ['no_connection', changed({ hostname: 'planted-host.invalid' })],
      ['login_refused', changed({ password: 'planted-secret' })],
      ['login_refused', changed({ password: '' })],
      ['login_refused', changed({ username: 'planted_user' })],
      ['no_database', changed({ pathname: '/nowhere' })],
      ['no_rights', changed({ username: 'guest', password: 'guest-secret' })],
      ['no_encryption', changed({ search: '?sslmode=verify-full' })],
      ['database_url', 'postgres://planted_user:12/planted-secret@127.0.0.1/x'],
      ['database_url', 'postgres://planted_user:planted/secret@127.0.0.1:x/y'],
      ['database_url', 'postgres://planted_user:planted-secret@%zz/x'],
    ];
    for (const [code, databaseUrl] of wrong) {
      const opening = openPostgres(await optionsOf({ databaseUrl: new Secret(databaseUrl) }));
      await assert.rejects(opening, (error) => {
        assert.ok(error instanceof StoreOpenError, inspect(error));
        assert.equal(error.code, code, error.message);
        assert.match(error.message, /^[^\n]+\.$/);
        const shown = inspect(error, { depth: 9 });
        for (const planted of [server.user, server.password, 'planted_user', 'planted-secret', 'guest']) {
          assert.ok(!shown.includes(planted), shown);
        }
        return true;
      });
    }
  });
});

/** Makes a check that opening the store failed for this reason. */
function opensWith(code: StoreOpenErrorCode) {
  return (error: unknown) => error instanceof StoreOpenError && error.code === code;
}
