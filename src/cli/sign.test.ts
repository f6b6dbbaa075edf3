import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newUserId } from '#domain/ids.ts';
import type { SigningKey } from '#domain/signing-key.ts';
import { privateKeyOf } from './sign.ts';

test('the private key is kept when it is unknown whether its signing key was created, and used if it was', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-sign-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const userId = newUserId();
  for (const isCreated of [false, true]) {
    const created: SigningKey[] = [];
    let isLost = true;
    const signingKeys = {
      ofUser: async () => ({ rows: created }),
      create: async (key: SigningKey) => {
        if (isCreated || !isLost) created.push(key);
        if (isLost) throw new MillraceError('outcome_unknown', 'The connection was lost.');
      },
    };
    const attempt = () => privateKeyOf({ signingKeys: signingKeys as never }, userId, { dataDir });
    await assert.rejects(attempt(), { code: 'outcome_unknown' });
    isLost = false;
    await attempt();
    assert.equal(created.length, 1);
    assert.deepEqual(await readdir(dataDir), [`signing-key-${userId}`]);
  }
});
