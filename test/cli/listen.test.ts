import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newEventId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { signatureHeaders } from '#webhooks/signature.ts';
import { waitFor } from '../support/wait-for.ts';
import { dataFolder } from './millrace.ts';

const LAUNCHER = join(import.meta.dirname, '../../bin/millrace.js');

test('millrace listen prints deliveries and whether they are genuine, and never prints the secret', async (t) => {
  const folder = await dataFolder(t);
  const secret = new Secret('a-secret-for-the-listener');
  const file = join(folder, 'secret');
  await writeFile(file, `${secret.reveal()}\n`);
  const child = spawn(process.execPath, [LAUNCHER, 'listen', '--port', '0', '--secret-file', file, '--status', '503'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  let printed = '';
  child.stdout.on('data', (bytes) => (printed += bytes));
  const url = await waitFor(() => /http:\/\/127\.0\.0\.1:\d+\//.exec(printed)?.[0], { what: 'the address' });

  const body = JSON.stringify({ event: 'stream.started', text: '\u001b[31m' });
  const headers = signatureHeaders({ id: newEventId(), at: ms(Date.now()), body }, [secret]);
  const answer = await fetch(url, { method: 'POST', headers, body });
  assert.equal(answer.status, 503);
  await waitFor(() => printed.includes('The signatures are valid.'), { what: 'the first delivery' });
  assert.ok(printed.includes('"event": "stream.started"'));
  assert.ok(!printed.includes('\u001b'), 'nothing that changes the terminal');
  await fetch(url, { method: 'POST', headers, body: `${body} ` });
  await waitFor(() => printed.includes('NOT GENUINE: '), { what: 'the forged delivery' });
  assert.ok(!printed.includes(secret.reveal()));
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});
