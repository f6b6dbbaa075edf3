import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '#domain/secret.ts';
import { postgresTool } from './postgres-tool.ts';

test('the commands of a restore name the database as the server reaches it, without the user and the password', async () => {
  for (const [url, named] of [
    ['postgres://u:p@db/millrace', 'postgres://db:5432/millrace'],
    ['postgres://u@[::1]:6432/millrace', 'postgres://[::1]:6432/millrace'],
    ['postgres:///millrace?host=/var/run/pg', 'postgres:///millrace?host=/var/run/pg&port=5432'],
    ['postgres://u:p@%2Fvar%2Frun:6432/millrace', 'postgres:///millrace?host=/var/run&port=6432'],
    [
      'postgres://u:p@db/millrace?sslrootcert=/a%20b/ca.pem&sslmode=verify-full&application_name=x',
      'postgres://db:5432/millrace?sslmode=verify-full&sslrootcert=/a%20b/ca.pem',
    ],
    ['postgres://u:p@db/millrace?sslmode=no-verify', 'postgres://db:5432/millrace?sslmode=require'],
  ] as const) {
    const { sentences } = await postgresTool(new Secret(url), 'restore', 'f');
    const commands = sentences.filter((line) => line.startsWith('  '));
    assert.deepEqual(
      commands.flatMap((command) => Array.from(command.matchAll(/--dbname='([^']*)'/g), ([, database]) => database)),
      [named],
      url,
    );
  }
});
