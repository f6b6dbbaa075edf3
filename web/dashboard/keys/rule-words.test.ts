import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessProblem } from '#api/access.ts';
import { PRESETS, ruleWords } from './rule-words.ts';

test('the rules that are offered are rules that the API takes', () => {
  for (const { rules } of PRESETS) assert.equal(accessProblem(rules ?? []), undefined);
});

test('rules are said in words', () => {
  assert.equal(ruleWords(undefined), 'Everything');
  assert.equal(ruleWords([]), 'Nothing');
  assert.equal(ruleWords(PRESETS[1]!.rules), 'Read only');
  assert.equal(ruleWords([{ resources: ['stream/:id'], methods: ['get', 'publish'] }]), 'get, publish on stream/:id');
  assert.equal(ruleWords([{ resources: ['webhook/*'] }]), 'anything on webhook/*');
});
