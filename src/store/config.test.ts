import assert from 'node:assert/strict';
import { it } from 'node:test';
import { storeSettings } from './config.ts';

const { databaseUrl } = storeSettings;

it('takes the address of a PostgreSQL database and keeps it secret', () => {
  for (const address of ['postgres://u:p@db.example:5432/millrace', 'postgresql:///millrace?host=/run/postgresql']) {
    const parsed = databaseUrl.parse(address);
    assert.equal(parsed.reveal(), address);
    assert.ok(!JSON.stringify({ parsed }).includes('millrace'));
  }
  assert.equal(databaseUrl.secret, true);
});

it('refuses any other address without repeating it', () => {
  for (const address of ['mysql://u:hunter2@db/millrace', 'hunter2', 'postgres://u:hunter2@db', '']) {
    assert.throws(
      () => databaseUrl.parse(address),
      (error: Error) => error.message.includes('PostgreSQL') && !error.message.includes('hunter2'),
    );
  }
});
