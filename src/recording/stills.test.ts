import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecOf } from '#media/codecs.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { CONFIGS } from '#test/fuzz/recorded.ts';
import { Stills } from './stills.ts';

test('a damaged segment has no picture, and is not read again for the next viewer', async () => {
  const stills = new Stills(() => assert.fail('there is no keyframe'));
  const init = initSegment(codecOf('h264').parseConfig(CONFIGS.h264[0]!));
  let reads = 0;
  const read = async () => {
    reads += 1;
    return { init, segment: new Uint8Array(1000) };
  };
  for (let viewer = 0; viewer < 3; viewer++) assert.equal(await stills.of('a segment', read), undefined);
  assert.equal(reads, 1);
});
