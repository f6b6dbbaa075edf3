import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, test } from 'node:test';
import { CommandLines } from './command-line.ts';
import { LAUNCHER, run as runProcess, storeFolder } from './millrace.ts';

const commandLines = new CommandLines();
const { run } = commandLines;
after(() => commandLines[Symbol.asyncDispose]());

const NO_FULL_DISK = existsSync('/dev/full') ? false : 'this system has no /dev/full';

test('keys are created, listed without their secrets, and revoked', async (t) => {
  const settings = { DATA_DIR: await storeFolder(t) };
  const millrace = (...args: string[]) => run(['keys', ...args], { settings });
  const first = await millrace('create', '--name', 'laptop', '--user', 'ann');
  const second = await millrace('create', '--name=laptop', '--user=bob');
  assert.notEqual(first.stdout, second.stdout);

  assert.equal((await millrace('create', '--name', 'reader', '--user', 'bob', '--read-only')).code, 0);
  assert.match((await millrace('list')).stdout, /bob +reader +\S+ +rules: 1 +never +active\n/);

  const again = await millrace('create', '--name', 'laptop', '--user', 'ann');
  assert.equal(again.code, 1);
  assert.match(again.stderr, /^The user ann already has a key named laptop; .*\.\n$/);

  const ambiguous = await millrace('revoke', 'laptop');
  assert.equal(ambiguous.code, 1);
  assert.match(ambiguous.stderr, /name one by its id/);

  const listed = await millrace('list');
  assert.match(listed.stdout, /^ID +USER +NAME +CREATED +ACCESS +LAST USED +STATE\n/);
  assert.ok(!listed.stdout.includes(first.stdout.trim()));
  const id = /^(\S+) +ann +laptop +\S+ +all +never +active$/m.exec(listed.stdout)?.[1];
  assert.ok(id, listed.stdout);

  assert.equal((await millrace('revoke', id)).stdout, `Revoked the key laptop (${id}) of ann.\n`);
  assert.equal((await millrace('revoke', id)).code, 1, 'a second time there is none');
  assert.match((await millrace('list')).stdout, /ann +laptop +\S+ +all +never +revoked \S+Z\n/);
  assert.equal((await millrace('create', '--name', 'laptop', '--user', 'ann')).code, 0, 'the name is free again');
});

test('a key whose secret cannot be written is revoked', { skip: NO_FULL_DISK }, async (t) => {
  const settings = { DATA_DIR: await storeFolder(t) };
  const create = `"${process.execPath}" "${LAUNCHER}" keys create --name laptop --user ann > /dev/full`;
  const { code, stderr } = await runProcess([], { settings, command: ['sh', '-c', create] });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^The secret of the key laptop could not be written \(.*ENOSPC.*\), so the key was revoked\.\n$/,
  );
  const { stdout } = await run(['keys', 'list'], { settings });
  assert.match(stdout, /ann +laptop +\S+ +all +never +revoked/);
});

test('wrong arguments are refused with a sentence that says what is wrong', async () => {
  for (const [args, sentence] of [
    [['create', '--nmae', 'a'], 'There is no such option.'],
    [['create', '--name'], 'An option lacks its value, or has one that it does not take.'],
    [['list', 'all'], 'There are too many arguments.'],
    [['revoke'], 'An argument is missing.'],
  ] as const) {
    assert.equal((await run(['keys', ...args])).stderr, `${sentence} See millrace keys --help.\n`);
  }
});

test('invalid arguments are refused without being repeated', async (t) => {
  const settings = { DATA_DIR: await storeFolder(t) };
  const secret = 'millrace_something-typed-in-the-wrong-place';
  for (const args of [
    ['keys'],
    ['keys', secret],
    ['keys', 'create', '--name', 'a'],
    ['keys', 'create', '--name', '', '--user', 'b'],
    ['keys', 'create', '--name', 'a\nb', '--user', 'b'],
    ['keys', 'create', '--name', 'a', '--user', 'b', secret],
    ['keys', 'create', `--${secret}`],
    ['keys', 'revoke'],
    ['keys', 'list', secret],
    ['serve', secret],
    [secret],
  ]) {
    const { code, stdout, stderr } = await run(args, { settings });
    assert.equal(code, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /See millrace.* --help\.\n$/);
    assert.ok(!stderr.includes(secret));
  }
});
