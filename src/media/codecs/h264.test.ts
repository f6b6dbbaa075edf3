import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InBandSets } from '#media/in-band-sets.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { serialize } from '#media/mp4/box.ts';
import { accessUnit, resizedAvcSps } from '#test/support/parameter-sets.ts';
import { avcSampleEntry, avcUnitReader, nalLengthSize, parseAvcConfig } from './h264.ts';

const invalid = { code: 'invalid_codec_config' };
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

/** Recorded `avcC` bodies: the encoder and its settings, and what ffprobe reports of the stream. */
const RECORDED: readonly (readonly [
  encoder: string,
  avcC: string,
  codecString: string,
  codedSize: string,
  displayWidth: number,
  frameRate: number | undefined,
])[] = [
  [
    'x264 164, High, 720p30',
    '0164001fffe1001a6764001facd9405005bb0110000003001000000303c0f183196001000668ebe3cb22c0fdf8f800',
    'avc1.64001f',
    '1280x720',
    1280,
    30,
  ],
  [
    'x264 164, High, 1080p29.97, cropped',
    '01640028ffe1001967640028acd940780227e5c04400000fa40003a9803c60c65801000668ebe3cb22c0fdf8f800',
    'avc1.640028',
    '1920x1080',
    1920,
    30_000 / 1001,
  ],
  [
    'x264 164, Constrained Baseline, 720p59.94',
    '0142c020ffe100166742c020da014016ec04400000fa4000753003c60ca801000468ce0fc8',
    'avc1.42c020',
    '1280x720',
    1280,
    60_000 / 1001,
  ],
  [
    'x264 164, 426x240 at 24',
    '0142c015ffe100176742c015da06c7f93c0440000003004000000c03c58ba801000468ce0fc8',
    'avc1.42c015',
    '426x240',
    426,
    24,
  ],
  [
    'x264 164, High 4:4:4, cropped by single pixels',
    '01f4001effe1001a67f4001e919680d83de36f011000000300100000030300f162ea01000568ce0f1920fff8f800',
    'avc1.f4001e',
    '852x478',
    852,
    24,
  ],
  [
    'x264 164, PAL 16:9, SAR 64:45',
    '0142c01effe1001c6742c01eda02d049bff0040002d1000003000100000300320f162ea001000468ce0fc8',
    'avc1.42c01e',
    '720x576',
    1024,
    25,
  ],
  [
    'x264 164, NTSC, SAR 40:33',
    '0142c01effe100166742c01eda02d0f6c14400000fa40003a9803c58ba8001000468ce0fc8',
    'avc1.42c01e',
    '720x480',
    873,
    30_000 / 1001,
  ],
  [
    'x264 164, Main, interlaced 1080i25',
    '014d4028ffe10019674d4028f403c0227ef011000003000100000300321f162ea001000468de0fc8',
    'avc1.4d4028',
    '1920x1080',
    1920,
    25,
  ],
  [
    'x264 164, High 10',
    '016e001fffe10019676e001fa6cb402802dd8088000003000800000301e078c19501000468ce0fc8fdfafa00',
    'avc1.6e001f',
    '1280x720',
    1280,
    30,
  ],
  [
    'x264 164, High 4:2:2',
    '017a001fffe10018677a001fbcb402802dd80880000003008000001e078c195001000468ce0fc8fef8f800',
    'avc1.7a001f',
    '1280x720',
    1280,
    30,
  ],
  [
    'x264 164, High, gray',
    '0164001fffe100196764001ff2d00a00b7602d90000003001000000303c0f1832a01000468ce0fc8fcf8f800',
    'avc1.64001f',
    '1280x720',
    1280,
    30,
  ],
  [
    'x264 164, JVT scaling matrices',
    '0164001fffe100186764001facb402802dd80880000003008000001e078c195001000568ce0fc40cfdf8f800',
    'avc1.64001f',
    '1280x720',
    1280,
    30,
  ],
  [
    'x264 164, BT.709, 1080p60',
    '0142c02affe1001c6742c02ada01e0089f97016a02020280000003008000003c078c195001000468ce0fc8',
    'avc1.42c02a',
    '1920x1080',
    1920,
    60,
  ],
  [
    'x264 164, full range',
    '0142c01fffe100196742c01fda014016ec05b2000003000200000300781e30654001000468ce0fc8',
    'avc1.42c01f',
    '1280x720',
    1280,
    30,
  ],
  [
    'x264 164, variable frame rate on a 90 kHz clock',
    '0142c01fffe100176742c01fda014016ec0440000003004000afc803c60ca801000468ce0fc8',
    'avc1.42c01f',
    '1280x720',
    1280,
    undefined,
  ],
  [
    'x264 164, 2160p30',
    '0142c033ffe100196742c033da00f0010fb0110000030001000003003c0f1832a001000468ce0fc8',
    'avc1.42c033',
    '3840x2160',
    3840,
    30,
  ],
  [
    'x264 through GStreamer, 854x480',
    '0164001fffe1001c6764001facb201b07bcde02d418181a9400000fa40003a9823c60c9201000568ebccb22c',
    'avc1.64001f',
    '854x480',
    854,
    30_000 / 1001,
  ],
  [
    'x264 through GStreamer, SAR 8:9',
    '0164001effe1001f6764001eacb201687b7fe00100012a418181a9400000fa40003a9823c58b9201000568ebccb22c',
    'avc1.64001e',
    '720x480',
    640,
    30_000 / 1001,
  ],
  [
    'x264 165 through FFmpeg 8, 1080x1920 at 59.94',
    '014d402affe10017674d402aeca02201e3cbc2000007d20003a9801e30632c01000468ef8fc8',
    'avc1.4d402a',
    '1080x1920',
    1080,
    60_000 / 1001,
  ],
  [
    'OpenH264 2.3, no timing',
    '0142c01fffe1000f6742c01f8c8d402802dd00f08846a001000468ce3c80',
    'avc1.42c01f',
    '1280x720',
    1280,
    undefined,
  ],
  [
    'OpenH264 2.3, 1080 lines',
    '0142c028ffe100106742c0288c8d403c0113f2c03c2211a801000468ce3c80',
    'avc1.42c028',
    '1920x1080',
    1920,
    undefined,
  ],
];

const HIGH_720P = bytes(RECORDED[0]![1]);
const BT709 = bytes(RECORDED.find(([encoder]) => encoder.includes('BT.709'))![1]);
const PAL = bytes(RECORDED.find(([encoder]) => encoder.includes('PAL'))![1]);

/** A copy with some bytes changed. */
function changed(config: Uint8Array, changes: Readonly<Record<number, number>>): Uint8Array {
  const copy = Uint8Array.from(config);
  for (const [at, value] of Object.entries(changes)) copy[Number(at)] = value;
  return copy;
}

/** Recorded `avcC` bodies of x264 164, 320x180, and the depth of B-frames that ffprobe reports (`has_b_frames`). */
const REORDERED: readonly (readonly [settings: string, avcC: string, depth: number])[] = [
  [
    '-bf 8 -b_strategy 0',
    '0164000dffe1001a6764000dacc8505067e7c044000003000400000300f03c50a65801000668ebe3cb22c0fdf8f800',
    2,
  ],
  [
    '-bf 8 -b_strategy 0 -x264-params nal-hrd=cbr',
    '0164000dffe100246764000dacc8505067e7c044000003000400000300f1808007a10001e84e4c30078a14cb01000568ebecb22cfdf8f800',
    2,
  ],
  ['-bf 0', '0164000dffe100186764000dacb202833f3e0220000003002000000781e2854901000668ebc3cb22c0fdf8f800', 0],
];

for (const [settings, avcC, depth] of REORDERED) {
  it(`an avcC record of x264 with ${settings} states a depth of ${depth} B-frames, as ffprobe reads it`, () => {
    assert.equal(parseAvcConfig(bytes(avcC)).reorderedFrames, depth);
  });
}

describe('the avcC record of', () => {
  for (const [encoder, avcC, codecString, codedSize, displayWidth, frameRate] of RECORDED) {
    it(`${encoder} is read as ffprobe reads it`, () => {
      const track = parseAvcConfig(bytes(avcC));
      assert.equal(track.codecString, codecString);
      assert.equal(`${track.codedWidth}x${track.codedHeight}`, codedSize);
      assert.equal(track.width, displayWidth);
      assert.equal(track.height, track.codedHeight);
      assert.equal(track.declaredFrameRate, frameRate);
      assert.equal(nalLengthSize(track), 4);
      assert.deepEqual(track.config, bytes(avcC));
    });
  }
});

describe('an avcC record', () => {
  it('is copied into the track, so that its buffer can be reused', () => {
    const incoming = Uint8Array.from(HIGH_720P);
    const track = parseAvcConfig(incoming);
    incoming.fill(0);
    assert.deepEqual(track.config, HIGH_720P);
  });

  it('is described by its SPS where its own header differs', () => {
    assert.equal(parseAvcConfig(changed(HIGH_720P, { 1: 66, 2: 0, 3: 10 })).codecString, 'avc1.64001f');
  });

  it('is refused without an SPS, without a PPS, or with other NAL units in their place', () => {
    const [sps, pps] = [HIGH_720P.subarray(6, 34), HIGH_720P.subarray(35, 43)];
    const record = (spss: readonly Uint8Array[], ppss: readonly Uint8Array[]) =>
      Buffer.concat([
        HIGH_720P.subarray(0, 5),
        Buffer.of(0xe0 | spss.length),
        ...spss,
        Buffer.of(ppss.length),
        ...ppss,
      ]);
    assert.equal(parseAvcConfig(record([sps], [pps])).width, 1280);
    assert.equal(parseAvcConfig(record([sps, sps], [pps, pps])).width, 1280);
    for (const broken of [record([], [pps]), record([sps], []), record([pps], [sps]), record([sps], [sps])]) {
      assert.throws(() => parseAvcConfig(broken), invalid);
    }
  });

  it('is refused with an unknown version, NAL lengths of three bytes, or empty parameter sets', () => {
    assert.throws(() => parseAvcConfig(changed(HIGH_720P, { 0: 0 })), invalid);
    assert.throws(() => parseAvcConfig(changed(HIGH_720P, { 4: 0xfe })), invalid);
    assert.throws(() => parseAvcConfig(changed(HIGH_720P, { 6: 0, 7: 0 })), invalid);
  });

  it('is refused when truncated anywhere before the end of its PPS', () => {
    for (let length = 0; length < 43; length++) {
      assert.throws(() => parseAvcConfig(HIGH_720P.subarray(0, length)), invalid, `of ${length} bytes`);
    }
  });

  it('is refused above 16 KB before anything in it is read', () => {
    assert.throws(() => parseAvcConfig(Buffer.concat([HIGH_720P, new Uint8Array(16_384)])), invalid);
  });

  it('of any bytes, or of a real one with any bytes changed, gives a track within bounds or the typed error', () => {
    const mutated = fc
      .tuple(
        fc.constantFrom(...RECORDED.map(([, avcC]) => bytes(avcC))),
        fc.dictionary(fc.nat(60).map(String), fc.nat(255), { maxKeys: 4 }),
      )
      .map(([config, changes]) => changed(config, changes));
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 100 })), (config) => {
        try {
          const track = parseAvcConfig(config);
          for (const side of [track.width, track.height, track.codedWidth, track.codedHeight]) {
            assert.ok(Number.isInteger(side) && side >= 1 && side <= 0xffff, `a side of ${side}`);
          }
          assert.match(track.codecString, /^avc1\.[0-9a-f]{6}$/);
          assert.ok(serialize(avcSampleEntry(track)).length < 300);
        } catch (error) {
          assert.ok(error instanceof InvalidCodecConfigError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('an avc1 sample entry', () => {
  const entryOf = (config: Uint8Array) => Buffer.from(serialize(avcSampleEntry(parseAvcConfig(config))));

  it('repeats the colours of the bitstream', () => {
    const entry = entryOf(BT709);
    const at = entry.indexOf('colrnclx');
    assert.deepEqual([...entry.subarray(at + 8, at + 15)], [0, 1, 0, 1, 0, 1, 0]);
  });

  it('repeats a sample aspect ratio that is not square', () => {
    const entry = entryOf(PAL);
    const at = entry.indexOf('pasp');
    assert.deepEqual([entry.readUInt32BE(at + 4), entry.readUInt32BE(at + 8)], [64, 45]);
  });

  it('has no colours and no aspect ratio when the bitstream states none, and contains the record unchanged', () => {
    const entry = entryOf(HIGH_720P);
    assert.equal(entry.indexOf('colr'), -1);
    assert.equal(entry.indexOf('pasp'), -1);
    assert.ok(entry.includes(HIGH_720P));
  });
});

describe('a keyframe', () => {
  const read = avcUnitReader(parseAvcConfig(HIGH_720P));

  it('is an access unit with an IDR picture anywhere in it', () => {
    const starts = (unit: string) => read(bytes(unit)).keyframe;
    assert.ok(starts('0000000209100000000265880000000106'));
    assert.ok(!starts('0000000209100000000241aa'));
    assert.ok(!starts(''));
  });

  it('cannot be an access unit without a slice', () => {
    const empty = (unit: string) => read(bytes(unit)).empty;
    for (const unit of ['000000020910', '0000000106000000026842', '00000000', '']) assert.ok(empty(unit), unit);
    for (const unit of ['0000000241aa', '0000000106000000022188']) assert.ok(!empty(unit), unit);
  });

  it('is refused in an access unit that is broken, before or after it', () => {
    for (const broken of ['000000ff6588', '000000026588000000ff41']) {
      assert.throws(() => read(bytes(broken)), { code: 'malformed_access_unit' });
    }
  });
});

const malformed = { code: 'malformed_access_unit' };

describe('an SPS inside an access unit', () => {
  const track = parseAvcConfig(HIGH_720P);
  const size = { width: 1280, height: 720 };
  const spsLength = HIGH_720P[6]! * 256 + HIGH_720P[7]!;
  const own = HIGH_720P.subarray(8, 8 + spsLength);
  const pps = HIGH_720P.subarray(8 + spsLength + 3);
  const idr = bytes('658880');
  const of = (width: number, height: number) => resizedAvcSps(own, size, { width, height });
  const read = (...nals: Uint8Array[]) => avcUnitReader(track)(accessUnit(...nals));

  it('is kept when it states the size of the configuration or another one that is small enough', () => {
    assert.deepEqual(read(own, pps, idr), { keyframe: true, empty: false });
    assert.deepEqual(read(of(1920, 1088), pps, idr), { keyframe: true, empty: false });
    assert.deepEqual(read(of(4096, 2304), idr, of(2304, 4096)), { keyframe: true, empty: false });
  });

  it('is refused when it states too large a frame: alone, after a good one, and after the slice', () => {
    for (const large of [of(16_000, 16_000), of(4112, 2304), of(8704, 1024), of(16, 8704)]) {
      for (const unit of [[large], [large, idr], [own, large, pps, idr], [idr, large]]) {
        assert.throws(() => read(...unit), malformed);
      }
    }
  });

  it('is refused when it is broken', () => {
    assert.throws(() => read(own.subarray(0, 6), idr), malformed);
    assert.throws(() => read(bytes('67'), idr), malformed);
    assert.throws(() => read(Buffer.concat([own, Buffer.alloc(3000, 1)]), idr), malformed);
  });

  it('is checked anywhere in the configuration, because a PPS can activate any', () => {
    const config = (spss: Uint8Array[], ppss: Uint8Array[]) => {
      const short = (nal: Uint8Array) => Buffer.concat([Buffer.of(nal.length >> 8, nal.length & 255), nal]);
      const head = Buffer.from(HIGH_720P.subarray(0, 5));
      const parts = [Buffer.of(0xe0 | spss.length), ...spss.map(short), Buffer.of(ppss.length), ...ppss.map(short)];
      return Buffer.concat([head, ...parts]);
    };
    assert.equal(parseAvcConfig(config([own, of(640, 352)], [pps])).width, 1280);
    const large = of(16_000, 16_000);
    for (const broken of [config([large], [pps]), config([own, large], [pps]), config([own], [pps, large])]) {
      assert.throws(() => parseAvcConfig(broken), { code: 'invalid_codec_config', message: /16000x16000.*4096x2304/ });
    }
  });

  it('is parsed once when it repeats, and different ones are parsed only up to a small share of the bytes of the media', () => {
    let parses = 0;
    const sets = new InBandSets(() => {
      parses += 1;
    });
    for (let unit = 0; unit < 1000; unit++) {
      sets.unit(1000);
      sets.read(Uint8Array.of(7, unit % 4));
    }
    assert.equal(parses, 4);
    const readOf = (units: number) => {
      let bytesRead = 0;
      const changing = new InBandSets((set) => {
        bytesRead += set.length;
      });
      for (let unit = 0; unit < units; unit++) {
        const set = new Uint8Array(500);
        new DataView(set.buffer).setUint32(0, unit);
        changing.unit(500);
        try {
          changing.read(set);
        } catch (error) {
          assert.ok(error instanceof MalformedAccessUnitError);
        }
      }
      return bytesRead;
    };
    const [some, more] = [readOf(10_000), readOf(20_000)];
    assert.ok(some <= 16_384 + 10_000 * 500 * 0.02, `${some} bytes`);
    assert.ok(more - some <= 10_000 * 500 * 0.02 + 500, `${more - some} bytes`);
  });
});
