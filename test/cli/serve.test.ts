import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PREFIX, SETTINGS } from '#config.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { dataFolder, LAUNCHER, run, serve, start, storeFolder } from './millrace.ts';

const NO_TERMINAL =
  spawnSync('script', ['--version']).status === 0 ? false : 'there is no script(1) to make a terminal';

const listStreams = (http: string, key: string) =>
  fetch(`${http}/api/stream`, { headers: { authorization: `Bearer ${key}` } });

test('the help lists every setting with its default and meaning', async () => {
  const { code, stdout } = await run(['serve', '--help']);
  assert.equal(code, 0);
  for (const settings of Object.values(SETTINGS)) {
    for (const { name, fallback } of Object.values(settings)) {
      assert.ok(stdout.includes(`  ${PREFIX}${name}${fallback ? `=${fallback}` : ' ('}`), name);
    }
  }
});

test('each wrong setting is reported in one sentence, and the exit code is 2', async () => {
  const settings = { HTTP_PORT: 'x', RTMP_PORT: '70000', NONSENSE: '1' };
  const { code, stdout, stderr } = await run(['serve'], { settings });
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.equal(stderr.trim().split('\n').length, 3);
});

test('the first start writes a key that works, readable by its owner only, and removes it at its first use', async (t) => {
  const DATA_DIR = await dataFolder(t);
  const first = await serve(t, { settings: { DATA_DIR } });
  const file = join(DATA_DIR, 'initial-api-key');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const key = (await readFile(file, 'utf8')).trim();
  assert.equal((await listStreams(first.http, `${key}x`)).status, 401);
  assert.equal((await stat(file)).mode & 0o777, 0o600, 'a wrong key does not count as its use');
  assert.equal((await listStreams(first.http, key)).status, 200);
  await waitFor(() => !existsSync(file), { what: 'the file to be gone' });
  assert.equal((await fetch(first.metrics)).status, 200);
  first.child.kill('SIGTERM');
  const { code, stdout, stderr } = await first.finished;
  assert.equal(code, 0, stderr);
  assert.ok(!`${stdout}${stderr}`.includes(key));

  const second = await serve(t, { settings: { DATA_DIR } });
  assert.equal(existsSync(file), false, 'a second start makes no other key');
  assert.equal((await listStreams(second.http, key)).status, 200);
});

test('a bootstrap key is the first key, and is neither written nor logged', async (t) => {
  const DATA_DIR = await dataFolder(t);
  const key = 'any string of thirty-two characters or more';
  const server = await serve(t, { settings: { DATA_DIR, BOOTSTRAP_API_KEY: key } });
  assert.equal((await listStreams(server.http, key)).status, 200);
  await assert.rejects(stat(join(DATA_DIR, 'initial-api-key')), { code: 'ENOENT' });
  server.child.kill('SIGINT');
  const { code, stdout, stderr } = await server.finished;
  assert.equal(code, 0);
  assert.ok(!`${stdout}${stderr}`.includes(key));
});

test('keys created and revoked beside the running server take effect at the next request', async (t) => {
  const settings = { DATA_DIR: await dataFolder(t) };
  const { http } = await serve(t, { settings });
  const created = await run(['keys', 'create', '--name', 'ci', '--user', 'bob'], { settings });
  assert.deepEqual([created.code, created.stderr], [0, '']);
  assert.match(created.stdout, /^\S{32,}\n$/, 'the secret stands alone');
  const key = created.stdout.trim();
  assert.equal((await listStreams(http, key)).status, 200);
  assert.equal((await run(['keys', 'revoke', 'ci'], { settings })).code, 0);
  assert.equal((await listStreams(http, key)).status, 401);
});

test('a port in use is reported in one sentence that names the setting', async (t) => {
  const DATA_DIR = await dataFolder(t);
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  for (const name of ['HTTP', 'RTMP', 'METRICS']) {
    const ports = { HTTP_PORT: '0', RTMP_PORT: '0', METRICS_PORT: '0', [`${name}_PORT`]: String(port) };
    const hosts = { HTTP_HOST: '127.0.0.1', RTMP_HOST: '127.0.0.1' };
    const { code, stderr } = await run(['serve'], { settings: { DATA_DIR, ...hosts, ...ports } });
    assert.equal(code, 3, stderr);
    assert.match(
      stderr,
      new RegExp(`^Port ${port} of 127\\.0\\.0\\.1 is already in use; .* MILLRACE_${name}_PORT .*\\.\\n$`),
    );
  }
});

test('a data folder that is in use or cannot be created is reported in one sentence', async (t) => {
  const DATA_DIR = await dataFolder(t);
  await serve(t, { settings: { DATA_DIR } });
  const second = await run(['serve'], { settings: { DATA_DIR } });
  assert.equal(second.code, 4);
  assert.match(second.stderr, /^The data folder .* is in use by another Millrace server; .*\.\n$/);

  const file = join(DATA_DIR, 'a-file');
  await writeFile(file, '');
  const refused = await run(['serve'], { settings: { DATA_DIR: join(file, 'data') } });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /^The data folder .* MILLRACE_DATA_DIR .*\.\n$/);

  const notAFolder = await run(['serve'], { settings: { DATA_DIR: file } });
  assert.equal(notAFolder.code, 4);
  assert.match(notAFolder.stderr, /a-file exists but is not a folder; .* MILLRACE_DATA_DIR .*\.\n$/);

  const neverThere = await run(['serve'], { settings: { DATA_DIR: '/proc/millrace/data' } });
  assert.equal(neverThere.code, 4);
  assert.match(neverThere.stderr, /^The data folder \/proc\/millrace\/data .* MILLRACE_DATA_DIR .*\.\n$/);
});

test('on a terminal, the server prints a readable message when it is ready', { skip: NO_TERMINAL }, async (t) => {
  const DATA_DIR = await storeFolder(t);
  const settings = { DATA_DIR, HTTP_PORT: '0', RTMP_PORT: '0', METRICS_PORT: '0' };
  const command = ['script', '--quiet', '--command', `'${process.execPath}' '${LAUNCHER}' serve`, '/dev/null'] as const;
  const { child, finished } = start([], { settings, command, stdin: 'pipe' });
  let seen = '';
  const { promise: isReady, resolve } = Promise.withResolvers<void>();
  child.stdout?.on('data', (chunk) => {
    seen += chunk;
    if (seen.includes('Metrics ')) resolve();
  });
  await Promise.race([isReady, finished]);
  child.stdin?.write('\x03'); // Ctrl-C
  await finished;
  assert.match(seen, /First API key \(user admin, name default\)\. It is not shown again:\s+millrace_\S+/);
  assert.match(
    seen,
    /Millrace \d+\.\d+\.\d+ is ready, on Node \d+\.\d+\.\d+\. Ctrl-C stops it\.\s+Publish to +rtmp:\/\/localhost:\d+\/live\s+Dashboard +http:\/\/localhost:\d+\/dashboard\s+API +http:/,
  );
});

test('a first start that fails leaves the link to the dashboard to the next one, and later starts make none', async (t) => {
  const DATA_DIR = await dataFolder(t);
  const file = join(DATA_DIR, 'initial-sign-in-link');
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const failed = await run(['serve'], { settings: { DATA_DIR, HTTP_HOST: '127.0.0.1', HTTP_PORT: String(port) } });
  assert.equal(failed.code, 3);
  assert.equal(existsSync(file), false);

  const stop = async ({ child, finished }: Awaited<ReturnType<typeof serve>>) => {
    child.kill('SIGTERM');
    await finished;
  };
  await stop(await serve(t, { settings: { DATA_DIR } }));
  const link = await readFile(file, 'utf8');
  assert.match(link, /^http:\/\/localhost:\d+\/dashboard\/sign-in#\S+\n$/);
  await stop(await serve(t, { settings: { DATA_DIR } }));
  assert.equal(await readFile(file, 'utf8'), link);
});

test('help is also a command', async () => {
  assert.equal((await run(['help'])).stdout, (await run(['--help'])).stdout);
  assert.equal((await run(['help', 'keys'])).stdout, (await run(['keys', '--help'])).stdout);
  assert.equal((await run(['help', 'kays'])).code, 2);
});

test('the version is that of the package, and of the Node it runs on', async () => {
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'));
  assert.equal((await run(['--version'])).stdout, `millrace ${version}, Node ${process.versions.node}\n`);
});

test('a shell completes commands and options with the printed script', async () => {
  const { stdout } = await run(['completion', 'bash']);
  const complete = (...words: string[]) => {
    const ask = `COMP_WORDS=(millrace ${words.join(' ')}) COMP_CWORD=${words.length}; _millrace; echo "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', `${stdout}\n${ask}`], { encoding: 'utf8' }).trim();
  };
  assert.equal(complete('ke'), 'keys');
  assert.equal(complete('keys', 'cr'), 'create');
  assert.equal(complete('keys', '--re'), '--read-only');
  const { code, stderr } = await run(['completion', 'tcsh']);
  assert.deepEqual([code, stderr], [2, 'Name one shell: bash, zsh, fish. See millrace completion --help.\n']);
});

test('closing the terminal stops the server with a drain', async (t) => {
  const { child, finished } = await serve(t, { settings: { DATA_DIR: await dataFolder(t) } });
  child.kill('SIGHUP');
  child.kill('SIGHUP'); // from the system and from the shell
  const { code, stdout } = await finished;
  assert.equal(code, 0);
  assert.match(stdout, /"reason":"SIGHUP"/);
});

test('a server that stands still during its drain completes the drain afterwards', async (t) => {
  const standstill = new URL('./standstill-at-sigterm.ts', import.meta.url).href;
  const { child, finished } = await serve(t, {
    command: [process.execPath, '--import', standstill, LAUNCHER, 'serve'],
    settings: { DATA_DIR: await dataFolder(t) },
  });
  child.kill('SIGTERM');
  const { code, stdout } = await finished;
  assert.equal(code, 0, stdout);
});

test('a signal ends a server that cannot start, because its database does not answer', async (t) => {
  const database = createServer().listen(0, '127.0.0.1');
  t.after(() => database.close());
  await once(database, 'listening');
  const { port } = database.address() as AddressInfo;
  const settings = {
    DATA_DIR: await dataFolder(t),
    DATABASE_URL: `postgres://millrace:secret@127.0.0.1:${port}/millrace`,
  };
  const { child, finished } = start(['serve'], { settings });
  const [socket] = (await once(database, 'connection')) as [Socket];
  t.after(() => socket.destroy());
  child.kill('SIGTERM');
  const { code, stdout, stderr } = await finished;
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /stopped before the server was ready/);
});

/** Sends two signals to a server that is busy when it gets the first one. Returns its exit code. */
async function codeAfterTwoSignals(t: TestContext): Promise<number | null> {
  const key = 'any string of thirty-two characters or more';
  const { http, child, finished } = await serve(t, {
    settings: { DATA_DIR: await dataFolder(t), BOOTSTRAP_API_KEY: key },
  });
  // A request whose body does not come keeps the drain busy.
  const { hostname, port } = new URL(http);
  const socket = connect(Number(port), hostname).on('error', () => {});
  socket.write(
    `POST /api/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n` +
      'content-type: application/json\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n',
  );
  await once(socket, 'data'); // "100 Continue": the server has it
  child.kill('SIGTERM');
  for await (const chunk of on(child.stdout!, 'data')) if (String(chunk).includes('shutting down')) break;
  child.kill('SIGINT');
  return (await finished).code;
}

test('a second signal ends the server at once, with the exit code of that signal', async (t) => {
  let code = await codeAfterTwoSignals(t);
  // When this process is held up, the drain may be over before the second signal is sent.
  for (let again = 0; again < 4 && code === 0; again += 1) code = await codeAfterTwoSignals(t);
  assert.equal(code, 130);
});
