import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUDIT_ACTIONS } from '#domain/audit.ts';
import { QUOTA_NAMES } from '#domain/quotas.ts';
import { actionWords } from './action-words.ts';
import { QUOTA_WORDS } from './quota-words.ts';

test('every action of the audit log is said in words', () => {
  for (const action of AUDIT_ACTIONS) assert.match(actionWords(action), /^[A-Z][A-Za-z -]+ [a-z ]+$/);
  assert.equal(actionWords('api_key.created'), 'API key created');
});

test('every quota has a name', () => {
  assert.deepEqual(
    QUOTA_NAMES.filter((name) => QUOTA_WORDS[name] === undefined),
    [],
  );
});
