import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { TrackKind } from '#media/track.ts';
import { readFlvTag } from './flv-tag.ts';

const read = (kind: TrackKind, body: string) => readFlvTag(kind, Buffer.from(body.replaceAll(' ', ''), 'hex'));

describe('an FLV tag', () => {
  const cases: readonly [what: string, kind: TrackKind, body: string, type: string][] = [
    ['an AVC configuration', 'video', '17 00 000000 0142', 'config'],
    ['an AVC keyframe', 'video', '17 01 000000 65', 'frame'],
    ['a disposable AVC frame', 'video', '37 01 000000 01', 'frame'],
    ['an AVC end of sequence', 'video', '17 02 000000', 'ignored'],
    ['an empty AVC frame', 'video', '27 01 000000', 'ignored'],
    ['a video command frame', 'video', '57 00', 'ignored'],
    ['an empty video body', 'video', '', 'ignored'],
    ['a truncated AVC header', 'video', '17 01 00', 'malformed'],
    ['Sorenson video', 'video', '22 00', 'unsupported'],
    ['HEVC as some encoders number it', 'video', '1c 00 000000 01', 'unsupported'],
    ['an AAC configuration', 'audio', 'af 00 1210', 'config'],
    ['an AAC frame', 'audio', 'af 01 21', 'frame'],
    ['an empty AAC frame', 'audio', 'af 01', 'ignored'],
    ['an empty audio body', 'audio', '', 'ignored'],
    ['a truncated AAC header', 'audio', 'af', 'malformed'],
    ['MP3', 'audio', '2f ff', 'unsupported'],
  ];
  for (const [what, kind, body, type] of cases) {
    it(`that is ${what} is ${type}`, () => {
      assert.equal(read(kind, body).type, type);
    });
  }

  it('has a composition time of 24 bits with a sign', () => {
    for (const [bytes, compositionMs] of [
      ['000028', 40],
      ['7fffff', 8_388_607],
      ['ffffff', -1],
      ['800000', -8_388_608],
    ] as const) {
      const tag = read('video', `27 01 ${bytes} 41`);
      assert.deepEqual(tag, { type: 'frame', codec: 'h264', offsetMs: 0, compositionMs, data: Buffer.of(0x41) });
    }
  });

  it('of any bytes is read without an error', () => {
    fc.assert(
      fc.property(fc.constantFrom<TrackKind>('video', 'audio'), fc.uint8Array({ maxLength: 12 }), (kind, body) => {
        assert.ok(readFlvTag(kind, Buffer.from(body)).type.length > 0);
      }),
    );
  });
});
