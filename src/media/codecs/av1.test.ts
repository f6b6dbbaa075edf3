import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { serialize } from '#media/mp4/box.ts';
import type { VideoRange } from '#media/track.ts';
import { obuOf, resizedSequence } from '#test/support/parameter-sets.ts';
import { av1SampleEntry, parseAv1Config, temporalUnitReader } from './av1.ts';
import { obus } from './av1-obu.ts';

const invalid = { code: 'invalid_codec_config' };
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

/** Recorded `av1C` bodies: the encoder and its settings, and what ffprobe reports of the stream. */
const RECORDED: readonly (readonly [
  encoder: string,
  av1C: string,
  codecString: string,
  size: string,
  videoRange: VideoRange | undefined,
])[] = [
  ['libsvtav1, Main, 640x360 at 30', '81010c000a0b0000000cc4ff6700be0010', 'av01.0.01M.08', '640x360', undefined],
  [
    'libsvtav1, 10 bit, HLG',
    '81004c000a0e000000043cfecc02f85091209040',
    'av01.0.00M.10.0.110.09.18.09.0',
    '320x180',
    'HLG',
  ],
  ['libaom-av1, Main, 642x362 at 29.97', '81010c000a0b0000000cc5036936be4010', 'av01.0.01M.08', '642x362', undefined],
  [
    'libaom-av1, High, 4:4:4',
    '812000000a0a200000043cfeccdaf902',
    'av01.1.00M.08.0.000.02.02.02.0',
    '320x180',
    undefined,
  ],
  ['libaom-av1, gray', '81001c000a0a000000043cfeccdaf92a', 'av01.0.00M.08.1.110.02.02.02.1', '320x180', undefined],
  [
    'libaom-av1, Professional, 4:2:2 12 bit',
    '814068000a0b400000043cfeccdaf96220',
    'av01.2.00M.12.0.100.02.02.02.0',
    '320x180',
    undefined,
  ],
  ['librav1e, Main, BT.709', '811f0c000a0e000000fa1e7f66210a88080808a0', 'av01.0.31M.08', '320x180', 'SDR'],
];
const recorded = (place: number): string => RECORDED[place]![1];

const byte = (value: number): string => value.toString(16).padStart(2, '0');
const bits = (value: number, count: number): string => value.toString(2).padStart(count, '0');

/** The fields of 320x180, 8 bit 4:2:0, with every tool on and without colours. */
const SIZE_AND_TOOLS = `${bits(8, 4)} ${bits(7, 4)} ${bits(319, 9)} ${bits(179, 8)} 0 111 1111 1 11 1 1 ${bits(6, 3)} 111 0 0 0 0 00 0 0`;
/** One operating point of level 2.0, and the fields after it. */
const TAIL = `0 ${bits(0, 5)} ${bits(0, 12)} ${bits(0, 5)} ${SIZE_AND_TOOLS}`;

/** A sequence header, field by field. */
const sequence = (...fields: string[]): string => fields.join('').replaceAll(' ', '');

/** An av1C record with a sequence header of these bits. */
function record(sequenceBits: string): Uint8Array {
  const octets = `${sequenceBits}10000000`.match(/.{8}/g)!.map((octet) => Number.parseInt(octet, 2));
  return Uint8Array.from([0x81, 0, 0x0c, 0, 0x0a, octets.length, ...octets]);
}

describe('an av1C record of', () => {
  for (const [encoder, av1C, codecString, size, videoRange] of RECORDED) {
    it(`${encoder} is read as ffprobe reads it`, () => {
      const track = parseAv1Config(bytes(av1C));
      assert.equal(track.codecString, codecString);
      assert.equal(`${track.width}x${track.height}`, size);
      assert.equal(`${track.codedWidth}x${track.codedHeight}`, size);
      assert.equal(track.videoRange, videoRange);
      assert.deepEqual(track.config, bytes(av1C));
    });
  }

  it('a sequence with timing declares its frame rate', () => {
    // A tick of 1001, a time scale of 60000, two ticks for each frame, and no decoder model.
    const timed = sequence('000 0 0 1', bits(1001, 32), bits(60_000, 32), '1 010 0', TAIL);
    assert.equal(parseAv1Config(record(timed)).declaredFrameRate, 60_000 / 1001 / 2);
    const uneven = sequence('000 0 0 1', bits(1001, 32), bits(60_000, 32), '0 0', TAIL);
    assert.equal(parseAv1Config(record(uneven)).declaredFrameRate, undefined);
  });

  it('a sequence with decoder models and delays is read correctly, also after these', () => {
    const model = [bits(9, 5), bits(1, 32), bits(0, 5), bits(0, 5)];
    const points = [
      '1',
      bits(1, 5),
      bits(0, 12),
      bits(13, 5),
      '1',
      '1',
      bits(7, 10),
      bits(7, 10),
      '1',
      '1',
      bits(3, 4),
    ];
    const second = [bits(0, 12), bits(4, 5), '0', '0'];
    const text = sequence(
      '000 0 0 1',
      bits(1, 32),
      bits(30, 32),
      '1 1 1',
      ...model,
      ...points,
      ...second,
      SIZE_AND_TOOLS,
    );
    const track = parseAv1Config(record(text));
    assert.equal(track.codecString, 'av01.0.13H.08');
    assert.deepEqual([track.width, track.height, track.declaredFrameRate], [320, 180, 30]);
  });

  it('another version, without a sequence header, or of a still picture is refused', () => {
    for (const broken of [
      '01010c000a0b0000000cc4ff6700be0010',
      '82010c000a0b0000000cc4ff6700be0010',
      '81010c00',
      '81010c001200',
    ]) {
      assert.throws(() => parseAv1Config(bytes(broken)), invalid, broken);
    }
    assert.throws(() => parseAv1Config(record(sequence('000 1 1 00000', SIZE_AND_TOOLS))), invalid);
    assert.throws(() => parseAv1Config(new Uint8Array(20_000)), invalid);
  });

  it('any encoder, truncated anywhere, is refused with the typed error', () => {
    for (const [, av1C] of RECORDED) {
      const whole = bytes(av1C);
      for (let length = 0; length < whole.length; length++) {
        assert.throws(() => parseAv1Config(whole.subarray(0, length)), invalid, `${length} bytes`);
      }
    }
  });

  it('damaged bytes gives a track or is refused', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RECORDED.map(([, av1C]) => av1C)),
        fc.array(fc.tuple(fc.nat(24), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        (av1C, damages) => {
          const damaged = bytes(av1C);
          for (const [at, value] of damages) if (at < damaged.length) damaged[at] = value;
          try {
            const { width, height } = parseAv1Config(damaged);
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

describe('the av01 sample entry', () => {
  it('contains the record unchanged, and the colours when the bitstream states them', () => {
    const [plain, coloured] = [0, 1].map((place) => {
      const track = parseAv1Config(bytes(recorded(place)));
      return Buffer.from(serialize(av1SampleEntry(track)));
    });
    assert.equal(plain!.subarray(4, 8).toString(), 'av01');
    const at = plain!.indexOf('av1C') + 4;
    assert.equal(plain!.subarray(at).toString('hex'), recorded(0));
    const colour = coloured!.indexOf('colrnclx');
    assert.deepEqual(
      [9, 18, 9],
      [0, 2, 4].map((offset) => coloured!.readUInt16BE(colour + 8 + offset)),
    );
  });
});

describe('a temporal unit', () => {
  const obu = (type: number, payload: string) => `${byte((type << 3) | 2)}${byte(payload.length / 2)}${payload}`;
  const [DELIMITER, SEQUENCE] = [obu(2, ''), obu(1, recorded(0).slice(12))];
  const track = parseAv1Config(bytes(recorded(0)));
  const read = (...units: string[]) => temporalUnitReader(track)(bytes(units.join('')));

  it('is a keyframe when it has a shown key frame with its sequence header', () => {
    const cases: readonly [units: string[], keyframe: boolean][] = [
      [[SEQUENCE, obu(6, '1000')], true],
      [[SEQUENCE, obu(3, '1e00'), obu(4, '00')], true],
      [[obu(5, 'ff'), SEQUENCE, obu(6, '1000')], true],
      [[obu(6, '1000')], false], // without a sequence header
      [[SEQUENCE, obu(6, '0000')], false], // a key frame not shown yet
      [[SEQUENCE, obu(6, '3000')], false], // an inter frame
      [[SEQUENCE, obu(3, '90')], false], // a frame shown again
      [[SEQUENCE, obu(6, '3000'), obu(6, '1000')], false],
      [[SEQUENCE], false],
      [[], false],
    ];
    for (const [units, keyframe] of cases) assert.equal(read(...units).keyframe, keyframe, units.join(' '));
  });

  it('is empty without a frame', () => {
    assert.ok(read(obu(2, ''), SEQUENCE, obu(5, 'ff')).empty);
    assert.ok(!read(obu(3, '90')).empty);
  });

  it('keeps everything but temporal delimiters', () => {
    const frame = obu(6, '1002');
    const whole = bytes(SEQUENCE + frame);
    assert.equal(temporalUnitReader(track)(whole).data, whole, 'the same bytes');
    for (const units of [
      [DELIMITER, SEQUENCE, frame],
      [SEQUENCE, DELIMITER, frame],
      [DELIMITER, SEQUENCE, frame, DELIMITER],
    ]) {
      assert.deepEqual(Uint8Array.from(read(...units).data), whole);
    }
  });

  it('may leave out the size of its last OBU, and give any OBU an extension', () => {
    assert.equal(read(SEQUENCE, '30 10 fe'.replaceAll(' ', '')).keyframe, true);
    const extended = `0e08${SEQUENCE.slice(2)}`;
    assert.equal(read(extended, '36 08 02 10 00'.replaceAll(' ', '')).keyframe, true);
  });

  it('whose sizes do not fit its bytes is refused (red5#471)', () => {
    for (const broken of [
      '0a05 00',
      '0a',
      '0e',
      '0aff',
      '0affffffffffffffff7f',
      '0a80808080808080808000',
      '8a00',
      '0a0f0000',
      '32ffffffff0f',
    ]) {
      assert.throws(() => read(broken), MalformedAccessUnitError, broken);
    }
  });

  it('of any bytes is split into OBUs that cover all bytes, or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (data) => {
        try {
          assert.deepEqual(Uint8Array.from([...obus(data)].flatMap(({ whole }) => [...whole])), data);
        } catch (error) {
          assert.ok(error instanceof MalformedAccessUnitError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

/** The random values from which a sequence header is written. */
interface DrawnSequence {
  readonly widthBits: number;
  readonly heightBits: number;
  readonly frameIds: { readonly difference: number; readonly more: number } | undefined;
  readonly orderHintBits: number;
  readonly screenContent: boolean | undefined;
  readonly integerMotion: boolean | undefined;
  readonly model: { readonly removalBits: number; readonly timeBits: number; readonly equal: boolean } | undefined;
  readonly points: readonly { readonly layers: number; readonly modelled: boolean }[];
}

/** The random values from which a frame header is written. */
interface DrawnFrame {
  readonly type: 0 | 1 | 2 | 3;
  readonly shown: boolean;
  readonly resilient: boolean;
  readonly flags: boolean;
  readonly override: boolean;
  readonly refreshed: number;
  readonly short: boolean;
  readonly found: number | undefined;
  readonly temporalId: number;
  readonly spatialId: number;
  readonly width: number;
  readonly height: number;
}

/** Writes a sequence header of 320x180 (§5.5), as text of zeros and ones. */
function sequenceBits(drawn: DrawnSequence): string {
  const { model, points, frameIds, orderHintBits, screenContent, integerMotion } = drawn;
  const flag = (value: boolean) => (value ? '1' : '0');
  const timing =
    model === undefined
      ? '0'
      : `1${bits(1, 32)}${bits(30, 32)}${model.equal ? '11' : '0'}1${bits(9, 5)}${bits(1, 32)}${bits(model.removalBits - 1, 5)}${bits(model.timeBits - 1, 5)}`;
  const point = ({ layers, modelled }: { layers: number; modelled: boolean }) =>
    `${bits(layers, 12)}${bits(5, 5)}${model === undefined ? '' : modelled ? `1${bits(7, 10)}${bits(7, 10)}0` : '0'}`;
  const ids = frameIds === undefined ? '0' : `1${bits(frameIds.difference - 2, 4)}${bits(frameIds.more - 1, 3)}`;
  const motion = screenContent === false ? '' : integerMotion === undefined ? '1' : `0${flag(integerMotion)}`;
  return [
    `00000${timing}0${bits(points.length - 1, 5)}${points.map(point).join('')}`,
    bits(drawn.widthBits - 1, 4) +
      bits(drawn.heightBits - 1, 4) +
      bits(319, drawn.widthBits) +
      bits(179, drawn.heightBits),
    `${ids}1111111`,
    orderHintBits > 0 ? '111' : '0',
    screenContent === undefined ? '1' : `0${flag(screenContent)}`,
    motion,
    orderHintBits > 0 ? bits(orderHintBits - 1, 3) : '',
    '111000000',
  ].join('');
}

/** Writes a frame header through the size (§5.9.2), as text of zeros and ones, and returns whether it states a size. */
function frameBits(frame: DrawnFrame, { frameIds, orderHintBits, model, points, ...drawn }: DrawnSequence) {
  const flag = (value: boolean) => (value ? '1' : '0');
  const { type, shown, resilient, override } = frame;
  const isIntra = type === 0 || type === 2;
  const isSwitch = type === 3;
  const isShownKey = type === 0 && shown;
  const isResilient = isSwitch || isShownKey || resilient;
  const hasSize = isSwitch || override;
  const out = ['0', bits(type, 2), flag(shown)];
  out.push(shown ? (model !== undefined && !model.equal ? bits(0, model.timeBits) : '') : flag(frame.flags));
  if (!isSwitch && !isShownKey) out.push(flag(resilient));
  out.push(flag(frame.flags));
  if (drawn.screenContent === undefined) out.push(flag(frame.flags));
  if ((drawn.screenContent ?? frame.flags) && drawn.integerMotion === undefined) out.push(flag(frame.flags));
  if (frameIds !== undefined) out.push(bits(1, frameIds.difference + frameIds.more));
  if (!isSwitch) out.push(flag(override));
  out.push(bits(0, orderHintBits).slice(0, orderHintBits));
  if (!isIntra && !isResilient) out.push(bits(5, 3));
  if (model !== undefined) {
    out.push(flag(frame.flags));
    for (const { layers, modelled } of frame.flags ? points : []) {
      const has = (bit: number) => ((layers >> bit) & 1) === 1;
      const isPart = layers === 0 || (has(frame.temporalId) && has(8 + frame.spatialId));
      if (modelled && isPart) out.push(bits(1, model.removalBits));
    }
  }
  if (!isSwitch && !isShownKey) out.push(bits(frame.refreshed, 8));
  const refreshed = isSwitch || isShownKey ? 255 : frame.refreshed;
  if ((!isIntra || refreshed !== 255) && isResilient) out.push('0'.repeat(8 * orderHintBits));
  let states = hasSize;
  if (!isIntra) {
    if (orderHintBits > 0) out.push(frame.short ? `1${bits(5, 6)}` : '0');
    const short = orderHintBits > 0 && frame.short;
    for (let at = 0; at < 7; at++) out.push(short ? '' : bits(3, 3), frameIds ? bits(1, frameIds.difference) : '');
    if (hasSize && !isResilient) {
      out.push(frame.found === undefined ? '0000000' : `${'0'.repeat(frame.found)}1`);
      states = frame.found === undefined;
    }
  }
  if (states) out.push(bits(frame.width - 1, drawn.widthBits), bits(frame.height - 1, drawn.heightBits));
  return { text: out.join(''), states };
}

describe('a frame of AV1 with a size of its own', () => {
  const pack = (text: string) =>
    Uint8Array.from(`${text}1`.match(/.{1,8}/g)!.map((octet) => Number.parseInt(octet.padEnd(8, '0'), 2)));
  const optional = <T>(drawn: fc.Arbitrary<T>) => fc.option(drawn, { nil: undefined });
  const drawnSequence: fc.Arbitrary<DrawnSequence> = fc.record({
    widthBits: fc.integer({ min: 9, max: 16 }),
    heightBits: fc.integer({ min: 8, max: 16 }),
    frameIds: optional(fc.record({ difference: fc.integer({ min: 2, max: 8 }), more: fc.integer({ min: 1, max: 8 }) })),
    orderHintBits: fc.integer({ min: 0, max: 8 }),
    screenContent: optional(fc.boolean()),
    integerMotion: optional(fc.boolean()),
    model: optional(
      fc.record({
        removalBits: fc.integer({ min: 1, max: 32 }),
        timeBits: fc.integer({ min: 1, max: 32 }),
        equal: fc.boolean(),
      }),
    ),
    points: fc.array(fc.record({ layers: fc.nat(4095), modelled: fc.boolean() }), { minLength: 1, maxLength: 32 }),
  });
  const drawnFrame = fc.record({
    type: fc.constantFrom(0, 1, 2, 3),
    shown: fc.boolean(),
    resilient: fc.boolean(),
    flags: fc.boolean(),
    override: fc.boolean(),
    refreshed: fc.constantFrom(0, 7, 255),
    short: fc.boolean(),
    found: optional(fc.nat(6)),
    temporalId: fc.nat(7),
    spatialId: fc.nat(3),
    width: fc.integer({ min: 1, max: 65_536 }),
    height: fc.integer({ min: 1, max: 65_536 }),
  }) as fc.Arbitrary<DrawnFrame>;

  it('is refused when it is too large, and only then, whatever its header states before the size', () => {
    let refused = 0;
    fc.assert(
      fc.property(drawnSequence, drawnFrame, fc.constantFrom(3, 6, 7), (drawn, some, type) => {
        const [width, height] = [
          Math.min(some.width, 2 ** drawn.widthBits),
          Math.min(some.height, 2 ** drawn.heightBits),
        ];
        const frame = { ...some, width, height };
        const { text, states } = frameBits(frame, drawn);
        const payload = pack(text);
        const extended = Uint8Array.of(
          (type << 3) | 6,
          (frame.temporalId << 5) | (frame.spatialId << 3),
          payload.length,
        );
        const unit = Buffer.concat([obuOf(1, pack(sequenceBits(drawn))), extended, payload]);
        const read = () => temporalUnitReader(parseAv1Config(bytes(recorded(0))))(unit);
        const tooLarge = states && (width * height > 4096 * 2304 || Math.max(width, height) > 8688);
        refused += Number(tooLarge);
        if (tooLarge) assert.throws(read, { code: 'malformed_access_unit', message: /frame header states/ });
        else assert.equal(read().empty, type === 7);
      }),
      { numRuns: 5000 },
    );
    assert.ok(refused > 100, `${refused} were too large`);
  });

  it('is read by the sequence header of the configuration until a unit that is kept has another one', () => {
    const drawn = { widthBits: 16, heightBits: 16, frameIds: undefined, orderHintBits: 7, model: undefined } as const;
    const rest = { screenContent: undefined, integerMotion: undefined, points: [{ layers: 0, modelled: false }] };
    const sequence = { ...drawn, ...rest };
    const track = parseAv1Config(record(sequenceBits(sequence)));
    const frame = { type: 0, shown: true, resilient: false, flags: false, override: true, refreshed: 0 } as const;
    const sizes = { short: false, found: undefined, temporalId: 0, spatialId: 0, width: 65_536, height: 65_536 };
    const { text } = frameBits({ ...frame, ...sizes }, sequence);
    const large = obuOf(6, pack(text));
    const reader = temporalUnitReader(track);
    assert.throws(() => reader(large), MalformedAccessUnitError);

    // Read with these, the same bytes state 512x256.
    const fewerBits = obuOf(1, pack(sequenceBits({ ...sequence, widthBits: 9, heightBits: 8 })));
    const broken = bytes('327f');
    assert.throws(() => reader(Buffer.concat([fewerBits, broken])), MalformedAccessUnitError);
    assert.throws(() => reader(large), MalformedAccessUnitError, 'a unit that was refused changed the sequence header');
    reader(Buffer.concat([fewerBits, large]));
    reader(large);
  });
});

describe('a sequence header inside a temporal unit', () => {
  const track = parseAv1Config(bytes(recorded(0)));
  const own = bytes(recorded(0).slice(12));
  const of = (width: number, height: number) => resizedSequence(own, { width: 640, height: 360 }, { width, height });
  const frame = obuOf(6, bytes('1000'));
  const read = (...obusOfUnit: Uint8Array[]) => temporalUnitReader(track)(Buffer.concat(obusOfUnit));

  it('is kept when it states another size that is small enough, and refused when it states too large a frame, anywhere in the unit', () => {
    for (const small of [own, of(4096, 2304), of(2304, 4096)]) assert.ok(read(obuOf(1, small), frame).keyframe);
    for (const large of [of(16_000, 16_000), of(65_535, 65_535), of(4097, 2304), of(8689, 16)]) {
      for (const unit of [[obuOf(1, large)], [obuOf(1, own), obuOf(1, large), frame], [frame, obuOf(1, large)]]) {
        assert.throws(() => read(...unit), MalformedAccessUnitError);
      }
      const config = Buffer.concat([bytes(recorded(0)).subarray(0, 4), obuOf(1, large)]);
      assert.throws(() => parseAv1Config(config), { ...invalid, message: /4096x2304/ });
    }
  });
});
