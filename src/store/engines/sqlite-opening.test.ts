import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import type { StreamId } from '#domain/ids.ts';
import { PATIENT } from '#store/contract/suite.contract.ts';
import { StoreOpenError, type StoreOpenErrorCode } from '#store/open-error.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someKey, someReceipt, someUser } from '#test/support/sample-records.ts';
import { holdFolder } from './folder-lock.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const root = mkdtempSync(join(tmpdir(), 'millrace-store-'));
after(() => rmSync(root, { recursive: true, force: true }));

const newFolder = () => mkdtempSync(join(root, 'data-'));
const openIn = (dataDir: string, exclusive = true) =>
  openStore({ dataDir, exclusive, logger: silentLogger, ...PATIENT });

describe('beside another process', () => {
  it('keeps every acknowledged write through kill -9, and releases the folder', async () => {
    const dataDir = newFolder();
    const child = run(
      `const user = await store.users.ensure(someUser({ name: 'someone' }));
       const create = async () => {
         const stream = someStream(user.id);
         await store.streams.create(stream, someReceipt());
         process.send(stream.id);
         return create();
       };
       for (let n = 0; n < 16; n += 1) void create();`,
      dataDir,
      true,
    );
    const acknowledged: StreamId[] = [];
    child.on('message', (id: StreamId) => {
      acknowledged.push(id);
      if (acknowledged.length === 1) assert.throws(() => holdFolder(dataDir), opensWith('in_use'));
      if (acknowledged.length === 200) child.kill('SIGKILL');
    });
    await once(child, 'close');
    assert.ok(acknowledged.length >= 200);
    await using store = await openIn(dataDir);
    const user = await store.users.byName('someone');
    const found = await Promise.all(acknowledged.map(async (id) => await store.streams.get(id, user!.id)));
    assert.equal(found.filter((stream) => stream === undefined).length, 0);
  });

  it('sees at once that a command revoked a key', async () => {
    const dataDir = newFolder();
    await using store = await openIn(dataDir);
    const user = await store.users.ensure(someUser());
    const key = someKey(user);
    await store.apiKeys.create(key, someReceipt());
    assert.ok(await store.apiKeys.byHash(key.secretHash));
    const child = run(
      `process.send(await store.apiKeys.revoke('${key.id}', 'everyone', someReceipt()));
       await store[Symbol.asyncDispose]();`,
      dataDir,
      false,
    );
    const received: unknown[] = [];
    child.on('message', (message) => received.push(message));
    const [code] = await once(child, 'close');
    assert.deepEqual(received, [true]);
    assert.equal(code, 0, 'a command ends by itself after it has closed the store');
    assert.equal(await store.apiKeys.byHash(key.secretHash), undefined);
  });
});

describe('opening', () => {
  it('is refused while another server holds the folder, and possible as soon as that server has closed', async () => {
    const dataDir = newFolder();
    const store = await openIn(dataDir);
    await assert.rejects(openIn(dataDir), opensWith('in_use'));
    await (await openIn(dataDir, false))[Symbol.asyncDispose]();
    await assert.rejects(openIn(dataDir), opensWith('in_use'), 'a command that closed did not release it');
    await store[Symbol.asyncDispose]();
    await (await openIn(dataDir))[Symbol.asyncDispose]();
  });

  it('refuses a database of a newer Millrace and leaves it as it is', async () => {
    const dataDir = newFolder();
    await (await openIn(dataDir))[Symbol.asyncDispose]();
    inDatabase(dataDir, "INSERT INTO kysely_migration VALUES ('9999-from-the-future', '2099-01-01')");
    for (const exclusive of [true, false]) {
      await assert.rejects(openIn(dataDir, exclusive), (error: Error) => {
        assert.match(error.message, /newer Millrace.*9999-from-the-future/);
        return opensWith('newer_schema')(error);
      });
    }
  });

  it('does not let a command change the schema under a running server', async () => {
    const dataDir = newFolder();
    {
      using _server = holdFolder(dataDir);
      await assert.rejects(openIn(dataDir, false), opensWith('outdated_schema'));
    }
    await (await openIn(dataDir, false))[Symbol.asyncDispose]();
  });

  it('refuses a file that is not a database', async () => {
    const dataDir = newFolder();
    writeFileSync(join(dataDir, 'millrace.db'), 'This is a letter to my grandmother, not a database. '.repeat(100));
    await assert.rejects(openIn(dataDir), opensWith('not_a_database'));
  });

  it('refuses a folder that cannot be made', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    await assert.rejects(openIn(join(file, 'data')), opensWith('no_folder'));
  });

  it('refuses a folder, or a database in it, that cannot be written to', async () => {
    const [empty, used, killed] = [newFolder(), newFolder(), newFolder()];
    {
      await using store = await openIn(used);
      await store.users.ensure(someUser());
      // A database as after kill -9, with its write-ahead log. SQLite opens it without an error even if it can only read it.
      cpSync(used, killed, { recursive: true });
    }
    const folders = [empty, used, killed];
    for (const folder of folders) {
      for (const file of readdirSync(folder)) chmodSync(join(folder, file), 0o444);
      chmodSync(folder, 0o555);
    }
    await asNobody(async () => {
      for (const dataDir of folders) {
        for (const exclusive of [true, false]) {
          await assert.rejects(openIn(dataDir, exclusive), opensWith('read_only'));
        }
      }
    });
  });
});

it('does not serve when it cannot hold the lock', async () => {
  const dataDir = newFolder();
  await (await openIn(dataDir))[Symbol.asyncDispose]();
  chmodSync(dataDir, 0o777);
  chmodSync(join(dataDir, 'millrace.db'), 0o666);
  chmodSync(join(dataDir, 'millrace.lock'), 0o444);
  await asNobody(() => assert.rejects(openIn(dataDir), opensWith('read_only')));
});

/** Makes a check that opening the store failed for this reason. */
function opensWith(code: StoreOpenErrorCode) {
  return (error: unknown) => error instanceof StoreOpenError && error.code === code;
}

/** Runs a script in another process, with `store` open in the folder and the suite's sample records available. */
function run(script: string, dataDir: string, exclusive: boolean): ChildProcess {
  const open = `
    import { openStore } from '#store/open-store.ts';
    import { someReceipt, someStream, someUser } from '#test/support/sample-records.ts';
    import { silentLogger } from '#telemetry/logger.ts';
    const store = await openStore({ dataDir: ${JSON.stringify(dataDir)}, exclusive: ${exclusive}, logger: silentLogger, ...${JSON.stringify(PATIENT)} });
  `;
  return spawn(process.execPath, ['--input-type=module', '--eval', open + script], {
    cwd: REPOSITORY,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** Runs a function as the user nobody if the test runs as root, because permissions do not restrict root. */
async function asNobody(act: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return act();
  chmodSync(root, 0o755);
  process.seteuid?.(65_534);
  try {
    await act();
  } finally {
    process.seteuid?.(0);
  }
}

function inDatabase(dataDir: string, sql: string): void {
  using db = new DatabaseSync(join(dataDir, 'millrace.db'));
  db.exec(sql);
}
