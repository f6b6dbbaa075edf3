import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { TrackKind } from '#media/track.ts';
import { readFlvTag } from './flv-tag.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const read = (kind: TrackKind, body: string) => readFlvTag(kind, hex(body));

const [AVC, HEVC, AV1, VP9] = ['61766331', '68766331', '61763031', '76703039'];
const [AAC, OPUS, FLAC] = ['6d703461', '4f707573', '664c6143'];

describe('an extended tag', () => {
  const cases: readonly [what: string, kind: TrackKind, body: string, expected: string][] = [
    ['an AVC configuration', 'video', `90 ${AVC} 0164`, 'config h264 0164'],
    ['an HEVC configuration', 'video', `90 ${HEVC} 0101`, 'config h265 0101'],
    ['an AV1 configuration', 'video', `90 ${AV1} 8100`, 'config av1 8100'],
    ['an HEVC frame shown later', 'video', `91 ${HEVC} 000028 41`, 'frame h265 41 +40'],
    ['an AVC frame shown later', 'video', `a1 ${AVC} 000028 41`, 'frame h264 41 +40'],
    ['an HEVC frame shown at once', 'video', `a3 ${HEVC} 41`, 'frame h265 41 +0'],
    ['an AV1 frame, which has no composition time', 'video', `91 ${AV1} 0a00`, 'frame av1 0a00 +0'],
    ['an AV1 frame of the other packet type', 'video', `93 ${AV1} 0a00`, 'frame av1 0a00 +0'],
    ['an empty frame', 'video', `91 ${HEVC} 000000`, 'ignored'],
    ['an empty configuration', 'video', `90 ${HEVC}`, 'ignored'],
    ['the end of a sequence', 'video', `92 ${HEVC}`, 'ignored'],
    ['colours', 'video', `94 ${HEVC} 02`, 'ignored'],
    ['MPEG-2 TS', 'video', `95 ${AV1} 00`, 'unsupported'],
    ['a command', 'video', 'd1 00', 'ignored'],
    ['VP9', 'video', `90 ${VP9} 01`, 'unsupported'],
    ['VP9 in frames', 'video', `91 ${VP9} 01`, 'unsupported'],
    ['a truncated FourCC', 'video', '90 6876', 'malformed'],
    ['a truncated composition time', 'video', `91 ${HEVC} 0000`, 'malformed'],
    ['a first track alone', 'video', `96 01 ${HEVC} 00 000028 41`, 'frame h265 41 +40'],
    ['a second track alone', 'video', `96 00 ${AVC} 01 0164`, 'ignored'],
    ['a second track of an unsupported codec', 'video', `96 00 ${VP9} 01 01`, 'ignored'],
    ['two tracks of a codec', 'video', `96 13 ${AV1} 01 000002 0bbb 00 000001 0a`, 'frame av1 0a +0'],
    ['two tracks of two codecs', 'video', `96 23 ${VP9} 01 000001 0b ${AV1} 00 000001 0a`, 'frame av1 0a +0'],
    ['truncated tracks', 'video', `96 13 ${AV1} 01 000009 0b`, 'malformed'],
    ['a timestamp finer than milliseconds', 'video', `97 02 07a120 03 ${AV1} 0a`, 'frame av1 0a +0 0.5'],
    ['an impossible timestamp offset', 'video', `97 02 0f4240 03 ${AV1} 0a`, 'frame av1 0a +0'],
    ['two extensions, one unknown', 'video', `97 00 ff 97 02 07a120 01 ${AV1} 0a`, 'frame av1 0a +0 0.5'],
    ['a long extension', 'video', `97 ff 00ff ${'00'.repeat(256)} 93 ${AV1} 0a`, 'frame av1 0a +0'],
    ['extensions without an end', 'video', '97 00 00 17 00 00 17', 'malformed'],
    ['an AAC configuration', 'audio', `90 ${AAC} 1210`, 'config aac 1210'],
    ['an Opus configuration', 'audio', `90 ${OPUS} 4f70`, 'config opus 4f70'],
    ['an Opus packet', 'audio', `91 ${OPUS} fc01`, 'frame opus fc01 +0'],
    ['the end of Opus', 'audio', `92 ${OPUS}`, 'ignored'],
    ['the order of channels', 'audio', `94 ${OPUS} 0102 00000003`, 'ignored'],
    ['FLAC', 'audio', `90 ${FLAC} 01`, 'unsupported'],
    ['a second audio track', 'audio', `95 00 ${AAC} 01 1210`, 'ignored'],
    ['a first audio track', 'audio', `95 01 ${OPUS} 00 fc01`, 'frame opus fc01 +0'],
    ['audio with a finer timestamp', 'audio', `97 02 07a120 01 ${OPUS} fc01`, 'frame opus fc01 +0 0.5'],
  ];
  for (const [what, kind, body, expected] of cases) {
    it(`that is ${what} is ${expected.split(' ')[0]}`, () => {
      assert.equal(inWords(read(kind, body)), expected);
    });
  }

  it('with more extensions than any encoder writes is malformed, because a body could hold millions', () => {
    const extended = (count: number) => `97 ${'00 00 17'.repeat(count - 1)} 00 00 13 ${HEVC} 41`;
    assert.equal(read('video', extended(8)).type, 'frame');
    assert.equal(read('video', extended(9)).type, 'malformed');
  });

  it('is searched for its main track among its first 256 tracks, because a body could hold millions', () => {
    const tracks = (others: number) => `96 13 ${HEVC} ${'01 000000'.repeat(others)} 00 000001 41`;
    assert.equal(read('video', tracks(255)).type, 'frame');
    assert.equal(read('video', tracks(256)).type, 'ignored');
  });

  it('of any bytes is read without an error', () => {
    const heads = fc.constantFrom(...cases.map(([, kind, body]) => [kind, hex(body).subarray(0, 8)] as const));
    fc.assert(
      fc.property(heads, fc.nat(8), fc.uint8Array({ maxLength: 20 }), ([kind, head], length, tail) => {
        assert.ok(readFlvTag(kind, Buffer.concat([head.subarray(0, length), tail])).type.length > 0);
      }),
      { numRuns: 2000 },
    );
  });
});

/** A tag in the notation of the table. */
function inWords(tag: ReturnType<typeof readFlvTag>): string {
  if (tag.type === 'config') return `config ${tag.codec} ${tag.data.toString('hex')}`;
  if (tag.type !== 'frame') return tag.type;
  const words = `frame ${tag.codec} ${tag.data.toString('hex')} +${tag.compositionMs}`;
  return tag.offsetMs === 0 ? words : `${words} ${tag.offsetMs}`;
}
