import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { QUOTA_NAMES } from '#domain/quotas.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { CommandLines } from './command-line.ts';
import { storeFolder } from './millrace.ts';

const commandLines = new CommandLines();
const { run } = commandLines;
after(() => commandLines[Symbol.asyncDispose]());

test('users are created, listed, suspended, resumed, promoted and demoted, each with an entry of the operator', async (t) => {
  const dataDir = await storeFolder(t);
  const users = (...args: string[]) => run(['users', ...args], { settings: { DATA_DIR: dataDir } });
  assert.match((await users('create', 'root', '--admin')).stdout, /^Created the user root \([0-9a-f-]{36}\)\.\n$/);
  assert.equal((await users('create', 'ann')).code, 0);
  const taken = await users('create', 'ann');
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /^There is already a user with this name; .*\.\n$/);

  assert.equal((await users('suspend', 'ann')).stdout, 'The user ann is suspended now.\n');
  assert.match(
    (await users('list')).stdout,
    /^ID +NAME +CREATED +ROLE +STATE\n.* ann +\S+Z +user +suspended\n.* root +\S+Z +admin +active\n$/,
  );
  assert.equal((await users('resume', 'ann')).code, 0);
  const last = await users('demote', 'root');
  assert.equal(last.code, 1);
  assert.match(last.stderr, /^This is the last active admin, .*\.\n$/);
  assert.equal((await users('promote', 'ann')).stdout, 'The user ann is an admin now.\n');
  assert.equal((await users('demote', 'root')).code, 0);
  assert.equal((await users('suspend', 'nobody')).code, 1);

  await using store = await openStore({ dataDir, exclusive: false, logger: silentLogger });
  const { rows } = await store.audit.list({}, { limit: 100 });
  assert.deepEqual(rows.map(({ action, fields, actor }) => [action, fields.join(), actor]).reverse(), [
    ['user.created', '', undefined],
    ['user.created', '', undefined],
    ['user.updated', 'suspended', undefined],
    ['user.updated', 'suspended', undefined],
    ['user.updated', 'admin', undefined],
    ['user.updated', 'admin', undefined],
  ]);
});

test('quotas of a user are shown, set and reset one by one, each change with an entry of the operator', async (t) => {
  const dataDir = await storeFolder(t);
  const settings = { DATA_DIR: dataDir, QUOTA_STREAMS: '77' };
  const quota = (...args: string[]) => run(['users', 'quota', ...args], { settings });
  for (const args of [['ann'], ['root', '--admin']]) await run(['users', 'create', ...args], { settings });
  const shown = await quota('ann');
  assert.match(shown.stdout, /^QUOTA +VALUE +FROM\nstreams +77 +default\n/);
  assert.equal(shown.stdout.trim().split('\n').length, 1 + QUOTA_NAMES.length);
  assert.match((await quota('root')).stdout, /\nstreams +no limit +default\n/);

  const changed = await quota('ann', 'streams=5', 'viewers=0');
  assert.match(changed.stdout, /\nstreams +5 +set\n(.*\n)*viewers +no limit +set\n/);
  assert.match((await quota('ann', 'streams=default', 'sessions=100')).stdout, /\nstreams +77 +default\n/);
  assert.equal((await quota('nobody', 'streams=5')).code, 1);
  assert.equal((await quota('nobody')).code, 1);

  await using store = await openStore({ dataDir, exclusive: false, logger: silentLogger });
  assert.deepEqual((await store.users.byName('ann'))?.quotas, { viewers: 0, sessions: 100 });
  const { rows } = await store.audit.list({}, { limit: 100 });
  assert.deepEqual(rows.map(({ action, fields, actor }) => [action, fields.join(), actor]).reverse(), [
    ['user.created', '', undefined],
    ['user.created', '', undefined],
    ['user.updated', 'quotas.streams,quotas.viewers', undefined],
    ['user.updated', 'quotas.streams,quotas.sessions', undefined],
  ]);
});

test('shells complete the action and the names of quotas', async () => {
  const { stdout } = await run(['completion', 'bash']);
  assert.match(stdout, /^ +users\) words='[^']* quota [^']*streams apiKeys [^']*'/m);
});

test('a database that cannot be written is reported in one sentence', async (t) => {
  const settings = { DATA_DIR: await storeFolder(t) };
  assert.equal((await run(['migrate'], { settings })).code, 0);
  using database = new DatabaseSync(join(settings.DATA_DIR, 'millrace.db'));
  database.exec('begin immediate');
  const { code, stderr } = await run(['users', 'create', 'ann'], { settings });
  assert.equal(code, 4);
  assert.match(stderr, /^[A-Z].*\.\n$/);
});

test('invalid arguments are refused without being repeated', async (t) => {
  const settings = { DATA_DIR: await storeFolder(t) };
  const secret = 'millrace_something-typed-in-the-wrong-place';
  for (const args of [
    [],
    [secret],
    ['constructor'],
    ['create'],
    ['create', 'a\nb'],
    ['list', secret],
    ['suspend', 'a', secret],
    ['quota'],
    ['quota', 'a', secret],
  ]) {
    const { code, stdout, stderr } = await run(['users', ...args], { settings });
    assert.equal(code, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /See millrace users --help\.\n$/);
    assert.ok(!stderr.includes(secret));
  }
});
