import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { serialize } from '#media/mp4/box.ts';
import { aacSampleEntry, parseAudioSpecificConfig } from './aac.ts';

const invalid = { code: 'invalid_codec_config' };
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

/** Packs text of ones and zeros, with blanks between fields, into bytes. */
const packed = (bits: string): Uint8Array =>
  Uint8Array.from(bits.replaceAll(' ', '').match(/.{1,8}/g) ?? [], (byte) => Number.parseInt(byte.padEnd(8, '0'), 2));

interface Expected {
  readonly codecString: string;
  readonly timescale: number;
  readonly sampleRate: number;
  readonly channels: number;
  readonly samplesPerPacket: number;
}

const lc = (rate: number, channels: number): Expected => ({
  codecString: 'mp4a.40.2',
  timescale: rate,
  sampleRate: rate,
  channels,
  samplesPerPacket: 1024,
});
const he = (version: 1 | 2, coreRate: number, sampleRate: number): Expected => ({
  codecString: version === 1 ? 'mp4a.40.5' : 'mp4a.40.29',
  timescale: coreRate,
  sampleRate,
  channels: 2,
  samplesPerPacket: 1024,
});

const CASES: readonly (readonly [what: string, config: Uint8Array, expected: Expected])[] = [
  // Recorded from encoders. FFmpeg appends a sync extension that states that there is no SBR.
  ['FFmpeg 5.1, mono', bytes('118856e500'), lc(48_000, 1)],
  ['FFmpeg 5.1, stereo', bytes('119056e500'), lc(48_000, 2)],
  ['FFmpeg 5.1, 44.1 kHz', bytes('121056e500'), lc(44_100, 2)],
  ['FFmpeg 5.1, 8 kHz mono', bytes('158856e500'), lc(8_000, 1)],
  ['FFmpeg 5.1, 96 kHz', bytes('101056e500'), lc(96_000, 2)],
  ['FFmpeg 5.1, 5.1', bytes('11b056e500'), lc(48_000, 6)],
  ['FFmpeg 5.1, 7.1', bytes('11b856e500'), lc(48_000, 8)],
  [
    'FFmpeg 5.1, 5.1(side) in a program config element',
    bytes('118004c844002000c40d4c61766335392e33372e31303056e500'),
    lc(48_000, 6),
  ],
  [
    'FFmpeg 5.1, quad in a program config element',
    bytes('118004c4040021100d4c61766335392e33372e31303056e500'),
    lc(48_000, 4),
  ],
  [
    'FFmpeg 5.1, 2.1 in a program config element',
    bytes('118004c4010020000d4c61766335392e33372e31303056e500'),
    lc(48_000, 3),
  ],
  ['FFmpeg 8', bytes('120856e500'), lc(44_100, 1)],
  ['VisualOn through GStreamer', bytes('1210'), lc(44_100, 2)],
  ['FDK', bytes('1190'), lc(48_000, 2)],
  // Written by hand from ISO/IEC 14496-3, Table 1.15.
  ['HE-AAC, hierarchical', packed('00101 0110 0010 0011 00010 000'), he(1, 24_000, 48_000)],
  ['HE-AAC v2, hierarchical, mono core', packed('11101 0110 0001 0011 00010 000'), he(2, 24_000, 48_000)],
  ['HE-AAC after a sync word', packed('00010 0111 0010 000 01010110111 00101 1 0100'), he(1, 22_050, 44_100)],
  [
    'HE-AAC v2 after sync words',
    packed('00010 0111 0001 000 01010110111 00101 1 0100 10101001000 1'),
    he(2, 22_050, 44_100),
  ],
  [
    'a sync extension with SBR and without PS',
    packed('00010 0111 0010 000 01010110111 00101 1 0100 10101001000 0'),
    he(1, 22_050, 44_100),
  ],
  // FFmpeg's 5.1(side) with a core of 24 kHz and a sync extension with SBR. It is found only if the element before it is read correctly.
  [
    'HE-AAC after a program config element',
    bytes('130004c844002000c40d4c61766335392e33372e31303056e598'),
    { ...he(1, 24_000, 48_000), channels: 6 },
  ],
  ['frames of 960', packed('00010 0011 0010 1 0 0'), { ...lc(48_000, 2), samplesPerPacket: 960 }],
  ['an explicit sample rate', packed(`00010 1111 ${(22_222).toString(2).padStart(24, '0')} 0010 000`), lc(22_222, 2)],
  ['a core coder delay', packed(`00010 0100 0010 0 1 ${'0'.repeat(14)} 0`), lc(44_100, 2)],
  [
    'a program config element with mixdowns and a coupling channel',
    packed(`00010 0011 0000 000 0000 01 0011 0001 0000 0000 00 000 0001 1 0000 1 0000 1 000 1 0000 0 0000 0 00000000`),
    lc(48_000, 2),
  ],
  ['6.1', packed('00010 0011 1011 000'), lc(48_000, 7)],
];

describe('the AudioSpecificConfig of', () => {
  for (const [what, config, expected] of CASES) {
    it(`${what} is read into a track`, () => {
      const { kind, codec, config: kept, ...rest } = parseAudioSpecificConfig(config);
      assert.deepEqual([kind, codec], ['audio', 'aac']);
      assert.deepEqual(rest, expected);
      assert.deepEqual(kept, config);
    });
  }
});

const REFUSED: readonly (readonly [what: string, config: Uint8Array])[] = [
  ['nothing', new Uint8Array()],
  ['one byte', bytes('11')],
  ['AAC-LD, as FDK writes it', bytes('b99100')],
  ['AAC-ELD, as FDK writes it', bytes('f8e64000')],
  ['AAC Main', packed('00001 0011 0010 000')],
  ['HE-AAC around AAC Main', packed('00101 0110 0010 0011 00001 000')],
  ['a reserved sample rate', packed('00010 1101 0010 000')],
  ['a reserved channel configuration', packed('00010 0011 1010 000')],
  ['an explicit sample rate of 0', packed(`00010 1111 ${'0'.repeat(24)} 0010 000`)],
  ['an explicit sample rate of 16 MHz', packed(`00010 1111 ${'1'.repeat(24)} 0010 000`)],
  ['a program config element without channels', packed(`00010 0011 0000 000 ${'0'.repeat(34)} 00000000`)],
  [
    'a program config element truncated in its comment',
    packed(`00010 0011 0000 000 0000 01 0011 0001 ${'0'.repeat(20)} 0 0000 0000 11111111`),
  ],
  ['more than 512 bytes', Buffer.concat([bytes('1190'), new Uint8Array(511)])],
];

describe('an AudioSpecificConfig is refused for', () => {
  for (const [what, config] of REFUSED) {
    it(what, () => {
      assert.throws(() => parseAudioSpecificConfig(config), invalid);
    });
  }
});

describe('an AudioSpecificConfig', () => {
  it('of any bytes, or of the beginning of a real one and any bytes, gives a track within bounds or the typed error', () => {
    const extended = fc
      .tuple(fc.constantFrom(...CASES.map(([, config]) => config)), fc.nat(8), fc.uint8Array({ maxLength: 40 }))
      .map(([config, kept, tail]) => Buffer.concat([config.subarray(0, kept), tail]));
    fc.assert(
      fc.property(fc.oneof(extended, fc.uint8Array({ maxLength: 64 })), (config) => {
        try {
          const track = parseAudioSpecificConfig(config);
          assert.ok(track.timescale >= 7350 && track.timescale <= 96_000);
          assert.ok(track.sampleRate >= 7350 && track.sampleRate <= 96_000);
          assert.ok(track.channels >= 1 && track.channels <= 100, `${track.channels} channels`);
          assert.match(track.codecString, /^mp4a\.40\.(2|5|29)$/);
          serialize(aacSampleEntry(track));
        } catch (error) {
          assert.ok(error instanceof InvalidCodecConfigError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('is copied into the track', () => {
    const incoming = bytes('119056e500');
    const track = parseAudioSpecificConfig(incoming);
    incoming.fill(0);
    assert.deepEqual(track.config, bytes('119056e500'));
  });
});
