import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BitReader } from './bit-reader.ts';

const invalid = { code: 'invalid_codec_config' };

/** Packs text of ones and zeros into bytes, padded with zeros. */
function packed(bits: string): Uint8Array {
  return Uint8Array.from(bits.match(/.{1,8}/g) ?? [], (byte) => Number.parseInt(byte.padEnd(8, '0'), 2));
}

/** Encodes an Exp-Golomb number by its definition in ITU-T H.264 §9.1. */
function exponentialGolomb(value: number): string {
  const bits = (value + 1).toString(2);
  return '0'.repeat(bits.length - 1) + bits;
}

describe('the bit reader', () => {
  it('reads any sequence of fields back, up to 32 bits each', () => {
    const field = fc
      .integer({ min: 1, max: 32 })
      .chain((count) =>
        fc.record({ count: fc.constant(count), value: fc.bigInt({ min: 0n, max: 2n ** BigInt(count) - 1n }) }),
      );
    fc.assert(
      fc.property(fc.array(field), (fields) => {
        const reader = new BitReader(
          packed(fields.map(({ count, value }) => value.toString(2).padStart(count, '0')).join('')),
          'test',
        );
        for (const { count, value } of fields) assert.equal(reader.bits(count), Number(value));
        assert.ok(reader.remaining < 8);
      }),
    );
  });

  it('reads any Exp-Golomb numbers back, signed and unsigned', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 32 - 2 })), (values) => {
        const bytes = packed(values.map(exponentialGolomb).join(''));
        const unsigned = new BitReader(bytes, 'test');
        const signed = new BitReader(bytes, 'test');
        for (const value of values) {
          assert.equal(unsigned.ue(), value);
          // Table 9-3: 0, 1, -1, 2, -2, ...
          assert.ok(signed.se() === (value % 2 === 1 ? 1 : -1) * Math.ceil(value / 2));
        }
      }),
    );
  });

  it('refuses an Exp-Golomb number that does not fit 32 bits', () => {
    assert.throws(() => new BitReader(new Uint8Array(100), 'test').ue(), invalid);
  });

  it('refuses to read or skip past the end, and keeps its position', () => {
    const reader = new BitReader(Uint8Array.of(0b10100000), 'test');
    assert.equal(reader.bits(3), 0b101);
    assert.throws(() => reader.bits(6), invalid);
    assert.throws(() => reader.skip(6), invalid);
    assert.equal(reader.bits(5), 0);
    assert.throws(() => reader.flag(), invalid);
  });

  it('aligns to the next byte boundary, and does not move when it is at one', () => {
    const reader = new BitReader(Uint8Array.of(0x80, 0x7f), 'test');
    reader.align();
    assert.ok(reader.flag());
    reader.align();
    assert.equal(reader.bits(8), 0x7f);
  });
});
