import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartSink } from '#hls/hls.ts';
import { ms } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { CONFIGS } from '#test/fuzz/recorded.ts';
import { Feed, videoTrack } from '#test/support/hls-feed.ts';
import { Stills } from './stills.ts';

/** A segment that begins with a keyframe. */
function keyframeSegment(): { readonly init: Uint8Array; readonly segment: Uint8Array } {
  let init: Uint8Array = new Uint8Array();
  let segment: Uint8Array = new Uint8Array();
  const sink: PartSink = {
    write: (_, packaged) => {
      if (packaged.type === 'init') init = packaged.bytes;
      else if (packaged.type === 'part' && segment.length === 0) segment = Buffer.concat(packaged.pieces);
    },
  };
  new Feed({ video: videoTrack(), beforeTracks: (presentation) => presentation.attach(sink) }).play(3);
  return { init, segment };
}

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

test('a picture that could not be made is tried again after a minute, and is kept once it was made', async () => {
  let now = 0;
  const picture = Uint8Array.of(1);
  const results = [undefined, picture];
  const stills = new Stills(async () => results.shift(), { monotonic: () => ms(now) });
  const { init, segment } = keyframeSegment();
  const ask = () => stills.of('a segment', async () => ({ init, segment }));
  assert.equal(await ask(), undefined);
  now = 59_999;
  assert.equal(await ask(), undefined);
  assert.equal(results.length, 1, 'not tried again yet');
  now = 60_000;
  assert.equal(await ask(), picture);
  now = 1e9;
  assert.equal(await ask(), picture);
  assert.equal(results.length, 0);
});
