import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { renditionIdOf } from './rendition-id.ts';

const profile = (name: string) => ({ name, width: 640, height: 360, fps: 0, bitrate: 500_000 });

test('a rendition has the name of its profile, unless an address cannot hold that name or it means something else there', () => {
  const profiles = [
    '720p',
    '1.5M_low-delay',
    'audio',
    '720p HD',
    'a/b',
    '.hidden',
    'größer',
    'x'.repeat(65),
    'index',
    'v',
  ].map(profile);
  const ids = profiles.map(({ name }) => renditionIdOf(name, profiles));
  assert.deepEqual(ids, ['720p', '1.5M_low-delay', '~2', '~3', '~4', '~5', '~6', '~7', '~8', '~9']);
});

test('profiles with different names have renditions with different ids, none of which is that of the audio', () => {
  const names = fc.uniqueArray(fc.oneof(fc.string(), fc.stringMatching(/^[~a-c0-9]{1,3}$/), fc.constant('audio')));
  fc.assert(
    fc.property(names, (given) => {
      const profiles = given.map(profile);
      const ids = new Set(given.map((name) => renditionIdOf(name, profiles)));
      assert.equal(ids.size, given.length);
      assert.equal(ids.has('audio'), false);
    }),
  );
});
