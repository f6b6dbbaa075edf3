import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measuredOf, WARNINGS, type Warning, warningSentence } from './warnings.ts';

test('a sentence names what happens and what to do', () => {
  const cases: readonly [Warning, string][] = [
    [
      { code: 'keyframe_interval_too_long', intervalS: 9.6, open: false },
      'keyframe every 9.6 s; set the encoder to 2 s',
    ],
    [{ code: 'keyframe_interval_too_long', intervalS: 4, open: true }, 'no keyframe for 4.0 s; set the encoder to 2 s'],
    [
      { code: 'profile_larger_than_source', renditions: ['720p', '1080p'] },
      'profiles left out, because they are larger than the source: 720p, 1080p',
    ],
  ];
  for (const [warning, sentence] of cases) assert.equal(warningSentence(warning), sentence);
});

test('a warning about a number says what was measured and what it should be', () => {
  assert.deepEqual(measuredOf({ code: 'keyframe_interval_too_long', intervalS: 9.64, open: false }), {
    actual: 9.6,
    expected: 2,
    unit: 's',
  });
  assert.equal(measuredOf({ code: 'timestamps_jumped' }), undefined);
});

test('codes have one form, and each is explained in whole sentences', () => {
  for (const [code, { meaning, remedy }] of Object.entries(WARNINGS)) {
    assert.match(code, /^[a-z]+(_[a-z]+)+$/);
    for (const text of [meaning, remedy]) assert.match(text, /^[A-Z].*\.$/, code);
  }
});
