import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { serialize } from '#media/mp4/box.ts';
import type { VideoRange } from '#media/track.ts';
import { accessUnit, resizedHevcSps } from '#test/support/parameter-sets.ts';
import { hevcSampleEntry, hevcUnitReader, parseHevcConfig } from './h265.ts';

const invalid = { code: 'invalid_codec_config' };
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

/** Recorded `hvcC` bodies: the settings of x265, and what ffprobe reports of the stream. */
const RECORDED: readonly (readonly [
  settings: string,
  hvcC: string,
  codecString: string,
  codedSize: string,
  displayWidth: number,
  frameRate: number,
  videoRange: VideoRange | undefined,
])[] = [
  [
    'Main, 640x360 at 30',
    '0101600000009000000000003ff000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003f959809a10001002e42010101600000030090000003000003003fa00502016965959a4932bffc000c0011a020000003002000000303c1a2000100074401c172b46240',
    'hvc1.1.6.L63.90',
    '640x360',
    480,
    30,
    undefined,
  ],
  [
    'Main, 1080p59.94, cropped',
    '0101600000009000000000007bf000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003007b959809a10001002d42010101600000030090000003000003007ba003c08010e596566924cafff00030004680800001f48000753004a2000100074401c172b46240',
    'hvc1.1.6.L123.90',
    '1920x1080',
    1440,
    60_000 / 1001,
    undefined,
  ],
  [
    'Main 10, HDR10',
    '0102200000009000000000003cf000fcfdfafa00000f03a00001001840010c01ffff02200000030090000003000003003c959809a10001003142010102200000030090000003000003003ca00a080b9f6d96566924cafff000300046a122012080000003008000000c84a2000100074401c172b46240',
    'hvc1.2.4.L60.90',
    '320x180',
    240,
    25,
    'PQ',
  ],
  [
    'Main, BT.709, SAR 64:45',
    '0101600000009000000000005af000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003005a959809a10001003242010101600000030090000003000003005aa005a20090596566924cafff040002a36a02020208000003000800000300c840a2000100074401c172b46240',
    'hvc1.1.6.L90.90',
    '720x576',
    1092,
    25,
    'SDR',
  ],
  [
    '4:4:4, odd size',
    '0104080000009e08000000003cf000fcfff8f800000f03a00001001740010c01ffff0408000003009e0800000300003c959809a10001002f4201010408000003009e0800000300003c90015101a392232cacd24995ffe0218029ad010000030001000003001808a2000100084401c172860c4624',
    'hvc1.4.10.L60.9E.8',
    '333x201',
    268,
    24,
    undefined,
  ],
  [
    '4:2:2 10 bit',
    '0104080000009d08000000003cf000fcfefafa00000f03a00001001740010c01ffff0408000003009d0800000300003c959809a10001002e4201010408000003009d0800000300003cb00a080b9f2b65959a4932bffc000c0011a02000000300200000030301a2000100074401c172b46240',
    'hvc1.4.10.L60.9D.8',
    '320x180',
    240,
    24,
    undefined,
  ],
  [
    'scaling lists, temporal layers',
    '0101600000009000000000003cf000fcfdf8f800001303a00001001c40010c02ffff01600000030090000003000003003c00009598acc048a10001004142010201600000030090000003000003003c0000a00a080b9f7965662b349272bffc000c0011a02000000300200000064c24930dc0061a800c35700186a0030d44a2000100074401c172b46240',
    'hvc1.1.6.L60.90',
    '320x180',
    240,
    50,
    undefined,
  ],
  [
    'level 5.1, High tier',
    '01216000000090000000000099f000fcfdf8f800000f03a00001001840010c01ffff216000000300900000030000030099959809a10001002f420101216000000300900000030000030099a00280802d165959a4932bffc000c0011a020000030002000003003c10a2000100074401c172b46240',
    'hvc1.1.6.H153.90',
    '1280x720',
    960,
    30,
    undefined,
  ],
];
const recorded = (place: number): string => RECORDED[place]![1];
const PLAIN = recorded(0);
const HDR = recorded(2);

describe('an hvcC record of', () => {
  for (const [settings, hvcC, codecString, codedSize, displayWidth, frameRate, videoRange] of RECORDED) {
    it(`x265, ${settings}, is read as ffprobe reads it`, () => {
      const track = parseHevcConfig(bytes(hvcC));
      assert.equal(track.codecString, codecString);
      assert.equal(`${track.codedWidth}x${track.codedHeight}`, codedSize);
      assert.deepEqual([track.width, track.height], [displayWidth, track.codedHeight]);
      assert.ok(Math.abs((track.declaredFrameRate ?? 0) - frameRate) < 1e-9, `${track.declaredFrameRate}`);
      assert.equal(track.videoRange, videoRange);
      assert.deepEqual(track.config, bytes(hvcC));
    });
  }

  it('another version, without a kind of parameter set, or with lengths of three bytes is refused', () => {
    const record = bytes(PLAIN);
    for (const [at, value] of [
      [0, 2],
      [21, 0x0e],
      [22, 2], // the PPS is not read
      [23, 0x20 | 0x01], // the VPS becomes an SPS
      [22, 4], // one array more than there is
    ] as const) {
      const broken = Uint8Array.from(record);
      broken[at] = value;
      assert.throws(() => parseHevcConfig(broken), invalid, `byte ${at} = ${value}`);
    }
    assert.throws(() => parseHevcConfig(new Uint8Array(20_000).fill(1)), invalid);
  });

  it('any encoder, truncated anywhere, is refused with the typed error', () => {
    for (const [, hvcC] of RECORDED) {
      const record = bytes(hvcC);
      for (let length = 0; length < record.length; length++) {
        assert.throws(() => parseHevcConfig(record.subarray(0, length)), invalid, `${length} bytes`);
      }
    }
  });

  it('damaged bytes gives a track or is refused', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RECORDED.map(([, hvcC]) => hvcC)),
        fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        (hvcC, damages) => {
          const record = bytes(hvcC);
          for (const [at, value] of damages) if (at < record.length) record[at] = value;
          try {
            const { width, height } = parseHevcConfig(record);
            assert.ok(width >= 1 && width <= 0xffff && height >= 1 && height <= 0xffff);
          } catch (error) {
            assert.ok(error instanceof InvalidCodecConfigError, String(error));
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

/** x265 with `-bf 8` and `temporal-layers=1`, whose SPS states a depth of B-frames for each of its two sub-layers: 2 and 2. */
const TWO_LAYERS =
  '0101600000009000000000003cf000fcfdf8f800001303a00001001d40010c02ffff01600000030090000003000003003c0000958a2b140480a10001002f42010201600000030090000003000003003c0000a00a080b9f7965628ac549265780b4040000030004000003007820a2000100074401c172b46240';

describe('the depth of B-frames', () => {
  const depthOf = (hvcC: string) => parseHevcConfig(bytes(hvcC)).reorderedFrames;

  it('is what ffprobe reads of x265 with `-bf 8` and with `-bf 0`', () => {
    const withoutB =
      '0101600000009000000000003cf000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003c928090a10001002942010101600000030090000003000003003ca00a080b9f7964a924caf0168080000003008000000f04a2000100074401c172b46240';
    assert.deepEqual([depthOf(TWO_LAYERS), depthOf(withoutB)], [2, 0]);
  });

  it('is that of the highest sub-layer', () => {
    const lowerOne = TWO_LAYERS.replace('7965628ac5', '7965428ac5'); // the lower sub-layer states 1
    assert.notEqual(lowerOne, TWO_LAYERS);
    assert.equal(depthOf(lowerOne), 2);
  });

  it('is not believed when it is larger than the number of frames that are stored', () => {
    const fourOfTwo = TWO_LAYERS.replace('65628ac549', '6562994549');
    assert.notEqual(fourOfTwo, TWO_LAYERS);
    assert.equal(depthOf(fourOfTwo), undefined);
  });
});

describe('the hvc1 sample entry', () => {
  const entryOf = (hvcC: string) => Buffer.from(serialize(hevcSampleEntry(parseHevcConfig(bytes(hvcC)))));

  it('states that all parameter sets are in it', () => {
    const incomplete = bytes(PLAIN);
    assert.equal(incomplete[23], 0xa0, 'x265 by FFmpeg states it already');
    incomplete[23] = 0x20;
    const track = parseHevcConfig(incomplete);
    const entry = Buffer.from(serialize(hevcSampleEntry(track)));
    const at = entry.indexOf('hvcC') + 4;
    assert.deepEqual(entry.subarray(at, at + PLAIN.length / 2), Buffer.from(bytes(PLAIN)));
    assert.equal(track.config[23], 0x20, 'the track’s own bytes stay unchanged');
  });

  it('states the sample aspect ratio and the colours when the bitstream does', () => {
    const entry = entryOf(HDR);
    assert.deepEqual(entry.subarray(4, 8).toString(), 'hvc1');
    const colour = entry.indexOf('colrnclx');
    assert.deepEqual(
      [9, 16, 9],
      [0, 2, 4].map((offset) => entry.readUInt16BE(colour + 8 + offset)),
    );
    const ratio = entry.indexOf('pasp');
    assert.deepEqual([entry.readUInt32BE(ratio + 4), entry.readUInt32BE(ratio + 8)], [3, 4]);
  });
});

describe('a keyframe of H.265', () => {
  const read = hevcUnitReader(parseHevcConfig(bytes(PLAIN)));
  const unit = (...types: number[]) =>
    Buffer.concat(types.map((type) => Buffer.from([0, 0, 0, 3, type << 1, 1, 0x80])));

  it('is an access unit with an IRAP picture anywhere in it', () => {
    for (let type = 0; type < 64; type++) {
      if (type === 33) continue; // an SPS is checked, and this one is empty
      const { keyframe } = read(unit(35, 39, type, 40));
      assert.equal(keyframe, type >= 16 && type <= 23, `type ${type}`);
    }
  });

  it('cannot be an access unit without a slice', () => {
    assert.ok(read(unit(32, 34, 35, 38, 39, 40)).empty);
    assert.ok(!read(unit(39, 1)).empty);
  });

  it('is refused in an access unit that is broken, before or after it', () => {
    for (const broken of [Buffer.concat([unit(19), Buffer.from([0, 0, 1])]), Buffer.from([0, 0, 0, 9, 38, 1])]) {
      assert.throws(() => read(broken), MalformedAccessUnitError);
    }
  });
});

describe('a parameter set of H.265 inside an access unit', () => {
  const config = bytes(PLAIN);
  const track = parseHevcConfig(config);
  const size = { width: 640, height: 360 };
  const own = nalsOf(config).find((nal) => nal[0] === 33 << 1)!;
  const [vps, pps] = [32, 34].map((type) => nalsOf(config).find((nal) => nal[0] === type << 1)!);
  const idr = bytes('260180');
  const of = (width: number, height: number) => resizedHevcSps(own, size, { width, height });
  const read = (...nals: Uint8Array[]) => hevcUnitReader(track)(accessUnit(...nals));
  const malformed = { code: 'malformed_access_unit' };

  it('is kept when it is that of the configuration or states another size that is small enough', () => {
    assert.deepEqual(read(vps!, own, pps!, idr), { keyframe: true, empty: false });
    assert.deepEqual(read(vps!, of(4096, 2304), pps!, idr), { keyframe: true, empty: false });
  });

  it('is refused when it is broken, states too large a frame or belongs to another layer, anywhere in the unit', () => {
    const layered = Buffer.from(own);
    layered[1] = 1 | (1 << 3);
    const layeredVps = Buffer.from(vps!);
    layeredVps[0] = vps![0]! | 1;
    for (const bad of [of(16_000, 16_000), of(4104, 2304), own.subarray(0, 9), layered, layeredVps]) {
      for (const unit of [[bad], [bad, idr], [vps!, own, bad, pps!, idr], [idr, bad]]) {
        assert.throws(() => read(...unit), malformed);
      }
    }
  });

  it('is checked anywhere in the configuration, whatever type its array states', () => {
    const large = of(16_000, 16_000);
    // One more array, which states that it holds SEI messages.
    const added = Buffer.concat([config, Buffer.of(39, 0, 1, large.length >> 8, large.length & 255), large]);
    added[22]! += 1;
    assert.throws(() => parseHevcConfig(added), { code: 'invalid_codec_config', message: /16000x16000.*4096x2304/ });
  });
});

/** The NAL units of an `hvcC` record. */
function nalsOf(config: Uint8Array): Uint8Array[] {
  const nals: Uint8Array[] = [];
  let at = 23;
  for (let array = 0; array < config[22]!; array++) {
    const count = config[at + 1]! * 256 + config[at + 2]!;
    at += 3;
    for (let index = 0; index < count; index++) {
      const length = config[at]! * 256 + config[at + 1]!;
      nals.push(config.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  }
  return nals;
}
