import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestWord } from './nearest-word.ts';

const words = ['HTTP_PORT', 'HTTP_HOST', 'RTMP_PORT', 'DATA_DIR'];

test('a word with a letter wrong, missing, added or swapped is recognised', () => {
  for (const typo of ['HTTP_PORD', 'HTP_PORT', 'HTTPS_PORT', 'HTTP_PROT']) {
    assert.equal(nearestWord(typo, words), 'HTTP_PORT', typo);
  }
});

test('a word that is like none of them is not recognised', () => {
  assert.equal(nearestWord('LOG_LEVEL', words), undefined);
  assert.equal(nearestWord('', words), undefined);
  assert.equal(nearestWord('', ['DVR']), undefined);
});

test('a short word may have fewer wrong letters than a long one', () => {
  assert.equal(nearestWord('FOO', ['DVR']), undefined);
  assert.equal(nearestWord('DVD', ['DVR']), 'DVR');
  assert.equal(nearestWord('kyes', ['keys', 'users']), 'keys');
  assert.equal(nearestWord('HTTP_PAIRS', words), 'HTTP_PORT');
});
