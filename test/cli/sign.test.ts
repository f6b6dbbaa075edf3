import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { decodeJwt, importSPKI, jwtVerify } from 'jose';
import { MAX_SIGNING_KEYS, pemOf } from '#domain/signing-key.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSigningPair } from '#test/support/playback-rights.ts';
import { someReceipt, someStream, someUser } from '#test/support/sample-records.ts';
import { CommandLines } from './command-line.ts';
import { storeFolder } from './millrace.ts';

const commandLines = new CommandLines();
const { run } = commandLines;
after(() => commandLines[Symbol.asyncDispose]());

/** A store with a stream under the policy `jwt`. */
async function setUp(t: TestContext) {
  const dataDir = await storeFolder(t);
  const open = () => openStore({ dataDir, exclusive: false, logger: silentLogger });
  await using store = await open();
  const user = await store.users.ensure(someUser());
  const stream = someStream(user.id, { playbackPolicy: { type: 'jwt' } });
  await store.streams.create(stream, someReceipt());
  const settings = { DATA_DIR: dataDir, PUBLIC_URL: 'https://live.example.com' };
  const sign = (...args: string[]) => run(['sign', ...args], { settings });
  const keys = async () => {
    await using reader = await open();
    return (await reader.signingKeys.ofUser(user.id, { limit: 100 })).rows;
  };
  return { dataDir, user, stream, sign, keys, open };
}

const tokenOf = (stdout: string): string => /#jwt=(\S+)/.exec(stdout)?.[1] ?? assert.fail(stdout);

test('millrace sign prints the URLs of page and playlist, signed with a key that is created once and stored privately', async (t) => {
  const { dataDir, user, stream, sign, keys } = await setUp(t);
  const { code, stdout, stderr } = await sign('--stream', stream.id, '--expires', '30m');
  assert.deepEqual([code, stderr], [0, '']);
  const token = tokenOf(stdout);
  const base = 'https://live.example.com';
  const { playbackId } = stream;
  assert.equal(stdout, `${base}/play/${playbackId}#jwt=${token}\n${base}/hls/${playbackId}/index.m3u8?jwt=${token}\n`);
  const [key, ...others] = await keys();
  assert.deepEqual([key?.name, others], ['millrace sign', []]);
  const verified = await jwtVerify(token, await importSPKI(pemOf(key!.publicKey), 'ES256'), { subject: playbackId });
  const { iat, exp, pub } = verified.payload;
  assert.deepEqual([exp! - iat!, pub], [1800, key!.publicKey]);

  const file = join(dataDir, `signing-key-${user.id}`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.match(await readFile(file, 'utf8'), /BEGIN PRIVATE KEY/);
  assert.equal(decodeJwt(tokenOf((await sign('--stream', stream.id)).stdout)).pub, key!.publicKey);
  assert.equal((await keys()).length, 1);
  assert.ok((await readdir(dataDir)).includes(`signing-key-${user.id}`));
});

test("millrace sign uses the user's private key in a file, and no other", async (t) => {
  const { dataDir, user, stream, sign, keys, open } = await setUp(t);
  const [own, stranger] = [someSigningPair(user.id), someSigningPair(user.id)];
  {
    await using store = await open();
    await store.signingKeys.create(own.key, someReceipt());
  }
  const file = join(dataDir, 'a-key');
  for (const text of [own.privateKey, `${pemOf(own.privateKey)}\n`]) {
    await writeFile(file, text);
    const { stdout } = await sign('--stream', stream.id, '--key', file);
    assert.equal(decodeJwt(tokenOf(stdout)).pub, own.key.publicKey);
  }
  for (const text of [stranger.privateKey, 'no key']) {
    await writeFile(file, text);
    const { code, stdout, stderr } = await sign('--stream', stream.id, '--key', file);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /holds no private key of an enabled signing key/);
    assert.ok(!stderr.includes(text));
  }
  assert.equal((await keys()).length, 1);
});

test('no signing key is created when its private key cannot be kept, or the user has too many', async (t) => {
  const { dataDir, user, stream, sign, keys, open } = await setUp(t);
  const part = join(dataDir, `signing-key-${user.id}.part`);
  await mkdir(part);
  const refused = await sign('--stream', stream.id);
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /^The private key cannot be kept in .*, so no signing key was created\.\n$/);
  assert.deepEqual(await keys(), []);
  await rmdir(part);
  {
    await using store = await open();
    for (let count = 0; count < MAX_SIGNING_KEYS; count += 1)
      await store.signingKeys.create(someSigningPair(user.id).key, someReceipt());
  }
  assert.equal((await sign('--stream', stream.id)).code, 1);
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.startsWith('signing-key-')),
    [],
  );
});

test('wrong arguments are refused with a sentence, and a warning is printed when the stream needs no token', async (t) => {
  const { user, stream, sign, open } = await setUp(t);
  for (const [args, code, sentence] of [
    [[], 2, /--stream ID/],
    [['--stream', stream.id, '--expires', 'soon'], 2, /--expires must be/],
    [['--stream', stream.id, '--expires', '0h'], 2, /--expires must be/],
    [['--stream', stream.id, '--secret', 'x'], 2, /An argument is unknown/],
    [['--stream', stream.playbackId], 1, /no stream with this id/],
    [['--stream', stream.id, '--key', '/nowhere'], 1, /cannot be read/],
  ] as const) {
    const finished = await sign(...args);
    assert.equal(finished.code, code, args.join(' '));
    assert.match(finished.stderr, sentence);
  }
  const publicStream = someStream(user.id);
  {
    await using store = await open();
    await store.streams.create(publicStream, someReceipt());
  }
  assert.match((await sign('--stream', publicStream.id)).stderr, /is not jwt, so the token is not checked/);
});
