import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseH264Sps } from './h264-sps.ts';

/** Writes the fields of ITU-T H.264 §7.3.2.1.1 as text of ones and zeros. */
const u = (count: number, value: number): string => value.toString(2).padStart(count, '0');
const flag = (value: boolean): string => (value ? '1' : '0');
const ue = (value: number): string => {
  const bits = (value + 1).toString(2);
  return '0'.repeat(bits.length - 1) + bits;
};
const se = (value: number): string => ue(value > 0 ? 2 * value - 1 : -2 * value);

/** An SPS NAL unit of such text, with its stop bit and emulation prevention bytes. */
function nal(bits: string): Uint8Array {
  const payload = `${bits}1`.match(/.{1,8}/g)!.map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2));
  const out = [0x67];
  for (const byte of payload) {
    if (out.at(-1) === 0 && out.at(-2) === 0 && byte < 4) out.push(3);
    out.push(byte);
  }
  return Uint8Array.from(out);
}

interface Fields {
  readonly profileIdc: number;
  readonly levelIdc: number;
  readonly chromaFormat: 0 | 1 | 2 | 3;
  readonly scalingLists: readonly (readonly number[])[];
  readonly pictureOrder: { readonly type: 0 | 1 | 2; readonly cycle: readonly number[] };
  readonly widthMacroblocks: number;
  readonly mapUnits: number;
  readonly interlaced: boolean;
  readonly crop: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
  readonly vui: string;
}

const NO_VUI_BITS = '0';

const PLAIN: Fields = {
  profileIdc: 77,
  levelIdc: 31,
  chromaFormat: 1,
  scalingLists: [],
  pictureOrder: { type: 0, cycle: [] },
  widthMacroblocks: 80,
  mapUnits: 45,
  interlaced: false,
  crop: { left: 0, right: 0, top: 0, bottom: 0 },
  vui: NO_VUI_BITS,
};

function sps(changes: Partial<Fields>): Uint8Array {
  const fields = { ...PLAIN, ...changes };
  const { pictureOrder, crop } = fields;
  const bits = [u(8, fields.profileIdc), u(8, 0), u(8, fields.levelIdc), ue(0)];
  if (fields.profileIdc === 244) {
    bits.push(ue(fields.chromaFormat), fields.chromaFormat === 3 ? flag(false) : '', ue(0), ue(0), flag(false));
    bits.push(flag(fields.scalingLists.length > 0));
    if (fields.scalingLists.length > 0) {
      const count = fields.chromaFormat === 3 ? 12 : 8;
      for (let list = 0; list < count; list++) {
        const scales = fields.scalingLists[list];
        bits.push(flag(scales !== undefined), ...(scales === undefined ? [] : scalingList(scales, list < 6 ? 16 : 64)));
      }
    }
  }
  bits.push(ue(4), ue(pictureOrder.type));
  if (pictureOrder.type === 0) bits.push(ue(2));
  if (pictureOrder.type === 1) {
    bits.push(flag(true), se(-3), se(5), ue(pictureOrder.cycle.length), ...pictureOrder.cycle.map(se));
  }
  bits.push(ue(4), flag(false), ue(fields.widthMacroblocks - 1), ue(fields.mapUnits - 1));
  bits.push(flag(!fields.interlaced), fields.interlaced ? flag(true) : '', flag(true));
  const cropped = crop.left + crop.right + crop.top + crop.bottom > 0;
  bits.push(flag(cropped), ...(cropped ? [crop.left, crop.right, crop.top, crop.bottom].map(ue) : []), fields.vui);
  return nal(bits.join(''));
}

/** The differences between scales, starting from 8. A next scale of 0 ends the list early (§7.3.2.1.1.1). */
function scalingList(scales: readonly number[], size: number): string[] {
  const bits: string[] = [];
  let last = 8;
  for (const scale of scales.slice(0, size)) {
    bits.push(se(((scale - last + 128 + 256) % 256) - 128));
    last = scale;
  }
  if (scales.length < size) bits.push(se(((0 - last + 128 + 256) % 256) - 128));
  return bits;
}

const optional = (bits: string | undefined) => (bits === undefined ? '0' : `1${bits}`);

/** A VUI through its timing. */
function vui(parts: { aspect?: string; colour?: string; timing?: string }): string {
  return `1${optional(parts.aspect)}${optional('1')}${optional(parts.colour)}${optional(ue(0) + ue(1))}${optional(parts.timing)}`;
}

/** A hypothetical decoder with this number of buffers (§E.1.2). */
function hypotheticalDecoder(buffers: number): string {
  return ue(buffers - 1) + u(8, 0x35) + (ue(7811) + ue(62_500) + flag(true)).repeat(buffers) + u(20, 0xbde98);
}

interface Ending {
  readonly nal?: number;
  readonly vcl?: number;
  readonly reordered: number;
  readonly stored: number;
}

/** A whole VUI that states how many frames are reordered and stored. */
function endedVui({ nal, vcl, reordered, stored }: Ending): string {
  const decoder = (buffers: number | undefined) =>
    optional(buffers === undefined ? undefined : hypotheticalDecoder(buffers));
  const lowDelay = nal === undefined && vcl === undefined ? '' : flag(false);
  const restriction = flag(true) + [2, 1, 11, 11, reordered, stored].map(ue).join('');
  return vui({}) + decoder(nal) + decoder(vcl) + lowDelay + flag(true) + optional(restriction);
}

const invalid = { code: 'invalid_codec_config' };

describe('an SPS', () => {
  it('gives its size, whatever precedes and follows it', () => {
    const fields = fc.record({
      profileIdc: fc.constantFrom(66, 77, 244),
      chromaFormat: fc.constantFrom(...([0, 1, 2, 3] as const)),
      scalingLists: fc.array(fc.array(fc.integer({ min: 1, max: 255 }), { maxLength: 64 }), { maxLength: 12 }),
      pictureOrder: fc.record({
        type: fc.constantFrom(...([0, 1, 2] as const)),
        cycle: fc.array(fc.integer({ min: -(2 ** 30), max: 2 ** 30 }), { maxLength: 255 }),
      }),
      widthMacroblocks: fc.integer({ min: 8, max: 256 }),
      mapUnits: fc.integer({ min: 8, max: 72 }),
      interlaced: fc.boolean(),
      crop: fc.record({ left: fc.nat(15), right: fc.nat(15), top: fc.nat(15), bottom: fc.nat(15) }),
    });
    fc.assert(
      fc.property(fields, (drawn) => {
        const { crop } = drawn;
        const chroma = drawn.profileIdc === 244 ? drawn.chromaFormat : 1;
        const stepX = [1, 2, 2, 1][chroma]!;
        const stepY = [1, 2, 1, 1][chroma]! * (drawn.interlaced ? 2 : 1);
        const read = parseH264Sps(sps({ ...drawn, vui: NO_VUI_BITS }));
        assert.equal(read.codedWidth, drawn.widthMacroblocks * 16 - (crop.left + crop.right) * stepX);
        assert.equal(
          read.codedHeight,
          drawn.mapUnits * (drawn.interlaced ? 32 : 16) - (crop.top + crop.bottom) * stepY,
        );
        assert.equal(read.frameRate, undefined);
        assert.equal(read.sampleAspectRatio, undefined);
      }),
    );
  });

  it('gives its size after scaling lists of every length', () => {
    for (const [chromaFormat, length] of [
      [1, 64],
      [3, 64],
      [3, 63],
      [1, 1],
    ] as const) {
      const scalingLists = Array.from({ length: 12 }, (_, list) =>
        Array.from({ length }, (_, at) => 1 + ((list + at) % 255)),
      );
      assert.equal(parseH264Sps(sps({ profileIdc: 244, chromaFormat, scalingLists })).codedWidth, 1280);
    }
  });

  it('states its sample aspect ratio by number or in full, and none by zero and reserved numbers', () => {
    const ratioOf = (aspect: string) => parseH264Sps(sps({ vui: vui({ aspect }) })).sampleAspectRatio;
    assert.deepEqual(ratioOf(u(8, 1)), { width: 1, height: 1 });
    assert.deepEqual(ratioOf(u(8, 5)), { width: 40, height: 33 });
    assert.deepEqual(ratioOf(u(8, 16)), { width: 2, height: 1 });
    assert.deepEqual(ratioOf(u(8, 255) + u(16, 64) + u(16, 45)), { width: 64, height: 45 });
    for (const none of [u(8, 0), u(8, 17), u(8, 255) + u(16, 0) + u(16, 1), u(8, 255) + u(16, 1) + u(16, 0)]) {
      assert.equal(ratioOf(none), undefined);
    }
  });

  it('states its colours only with a colour description', () => {
    const colourOf = (colour: string) => parseH264Sps(sps({ vui: vui({ colour }) })).colour;
    assert.deepEqual(colourOf(`${u(3, 5)}1${flag(true)}${u(8, 9)}${u(8, 16)}${u(8, 10)}`), {
      primaries: 9,
      transfer: 16,
      matrix: 10,
      fullRange: true,
    });
    assert.equal(colourOf(`${u(3, 5)}1${flag(false)}`), undefined);
  });

  it('states its frame rate as half its field rate, and none by an implausible rate', () => {
    const rateOf = (units: number, scale: number) =>
      parseH264Sps(sps({ vui: vui({ timing: u(32, units) + u(32, scale) + flag(true) }) })).frameRate;
    assert.equal(rateOf(1001, 60_000), 30_000 / 1001);
    assert.equal(rateOf(1, 600), 300);
    assert.equal(rateOf(2 ** 31, 2 ** 32 - 1), (2 ** 32 - 1) / 2 ** 32);
    assert.equal(rateOf(0, 60), undefined);
    assert.equal(rateOf(1, 0), undefined);
    assert.equal(rateOf(0, 0), undefined);
    assert.equal(rateOf(1, 180_000), undefined);
  });

  it('states how many frames are reordered, after hypothetical decoders of every size', () => {
    for (const ending of [
      { reordered: 0, stored: 0 },
      { reordered: 2, stored: 4 },
      { reordered: 16, stored: 16 },
      { nal: 1, reordered: 8, stored: 9 },
      { vcl: 32, reordered: 5, stored: 5 },
      { nal: 2, vcl: 3, reordered: 1, stored: 16 },
    ]) {
      assert.equal(parseH264Sps(sps({ vui: endedVui(ending) })).reorderedFrames, ending.reordered);
    }
  });

  it('states no reordered frames without a VUI, without a restriction in it, or with numbers that the standard does not allow', () => {
    for (const none of [
      NO_VUI_BITS,
      vui({}) + '0000',
      endedVui({ reordered: 5, stored: 4 }),
      endedVui({ reordered: 17, stored: 17 }),
      endedVui({ nal: 33, reordered: 5, stored: 5 }),
    ]) {
      assert.equal(parseH264Sps(sps({ vui: none })).reorderedFrames, undefined);
    }
  });

  it('is accepted when it is truncated after the timing of its VUI, and then states no reordered frames', () => {
    const aspect = u(8, 1);
    const timing = u(32, 1) + u(32, 60) + flag(true);
    const short = sps({ vui: vui({ aspect, timing }) });
    const whole = sps({
      vui: vui({ aspect, timing }) + endedVui({ nal: 1, reordered: 8, stored: 9 }).slice(vui({}).length),
    });
    assert.equal(parseH264Sps(whole).reorderedFrames, 8);
    for (let length = short.length; length < whole.length - 2; length++) {
      const read = parseH264Sps(whole.subarray(0, length));
      assert.deepEqual([read.frameRate, read.reorderedFrames], [30, undefined], `of ${length} bytes`);
    }
  });

  it('is refused when its frame has more samples or a longer side than level 5.2 allows, and at no other size', () => {
    const side = fc.integer({ min: 1, max: 2 ** 32 - 1 });
    const near = fc.integer({ min: 1, max: 600 });
    fc.assert(
      fc.property(fc.oneof(near, side), fc.oneof(near, side), (widthMacroblocks, mapUnits) => {
        const read = () => parseH264Sps(sps({ widthMacroblocks, mapUnits }));
        const fits = widthMacroblocks <= 543 && mapUnits <= 543 && widthMacroblocks * mapUnits <= 36_864;
        if (fits) assert.deepEqual([read().codedWidth, read().codedHeight], [widthMacroblocks * 16, mapUnits * 16]);
        else assert.throws(read, invalid);
      }),
      {
        numRuns: 1000,
        examples: [
          [256, 144],
          [144, 256],
          [543, 67],
          [544, 1],
          [257, 144],
          [1000, 1000],
        ],
      },
    );
    assert.throws(() => parseH264Sps(sps({ mapUnits: 272, interlaced: true })), invalid);
  });

  it('is refused when it crops the whole frame away, or states values that the standard does not have', () => {
    assert.throws(() => parseH264Sps(sps({ crop: { left: 320, right: 320, top: 0, bottom: 0 } })), invalid);
    assert.throws(() => parseH264Sps(sps({ crop: { left: 0, right: 0, top: 2 ** 32 - 2, bottom: 0 } })), invalid);
    assert.throws(() => parseH264Sps(sps({ pictureOrder: { type: 3 as 2, cycle: [] } })), invalid);
    assert.throws(() => parseH264Sps(sps({ pictureOrder: { type: 1, cycle: Array(256).fill(0) } })), invalid);
    assert.throws(() => parseH264Sps(sps({ profileIdc: 244, chromaFormat: 4 as 3 })), invalid);
  });

  it('is refused when it is truncated anywhere', () => {
    const whole = sps({ vui: vui({ aspect: u(8, 1), timing: u(32, 1) + u(32, 60) + flag(true) }) });
    for (let length = 0; length < whole.length - 1; length++) {
      assert.throws(() => parseH264Sps(whole.subarray(0, length)), invalid, `of ${length} bytes`);
    }
  });

  it('is refused when it is another kind of NAL unit', () => {
    assert.throws(() => parseH264Sps(Uint8Array.of(0x68, ...sps({}).subarray(1))), invalid);
    assert.throws(() => parseH264Sps(new Uint8Array()), invalid);
  });
});
