import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { readTrack } from './iso-bmff.ts';
import { wholeFragment } from './whole-fragment.ts';

const TRACK = codecOf('aac').parseConfig(Buffer.from('1190', 'hex'));
const INIT = Buffer.from(initSegment(TRACK));
const FRAGMENT = Buffer.from(
  wholeFragment(TRACK, 7, [
    { dts: ticks(0), pts: ticks(0), durationTicks: 1024, keyframe: true, data: Buffer.from('a frame') },
  ]),
);

/** A copy in which one text is replaced by another of the same length. */
const replaced = (bytes: Buffer, from: string, to: string): Buffer =>
  Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');

describe('the reader of tests', () => {
  it('reads an init segment alone, and with a fragment', () => {
    assert.deepEqual(readTrack(INIT).samples, []);
    assert.equal(readTrack(INIT, FRAGMENT).samples.length, 1);
  });

  const faults: readonly (readonly [what: string, init: Buffer, media: Buffer])[] = [
    ['a fragment cut short', INIT, FRAGMENT.subarray(0, -1)],
    ['bytes after the last box', INIT, Buffer.concat([FRAGMENT, Buffer.of(0, 0)])],
    ['a box it does not know', INIT, replaced(FRAGMENT, 'tfdt', 'tfdx')],
    ['a box of size 0', INIT, Buffer.concat([FRAGMENT, Buffer.from('00000000', 'hex'), Buffer.from('moof')])],
    ['a box larger than the one around it', INIT, replaced(FRAGMENT, '\0\0\0\x10mfhd', '\0\0\xff\x10mfhd')],
    ['an init segment without a track', replaced(INIT, 'trak', 'free'), FRAGMENT],
  ];
  for (const [what, init, media] of faults) {
    it(`refuses ${what}`, () => {
      assert.throws(() => readTrack(init, media));
    });
  }
});
