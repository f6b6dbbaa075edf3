import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nalUnits } from '#test/support/nal-units.ts';
import { MalformedAccessUnitError } from './malformed-access-unit.ts';
import { withoutEmulationPrevention } from './nal.ts';

/** An access unit of NAL units with lengths of 4 bytes. */
function accessUnit(nals: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    nals.flatMap((nal) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(nal.length);
      return [length, nal];
    }),
  );
}

/** Inserts emulation prevention bytes (ITU-T H.264 §7.4.1.1): a NAL unit must not contain 00 00 0x with x below 4. */
function withEmulationPrevention(payload: Uint8Array): Uint8Array {
  const out: number[] = [];
  for (const byte of payload) {
    if (out.at(-1) === 0 && out.at(-2) === 0 && byte < 4) out.push(3);
    out.push(byte);
  }
  return Uint8Array.from(out);
}

describe('the NAL units of an access unit', () => {
  it('are read back as they were written, without the empty ones', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (nals) => {
        assert.deepEqual(
          nalUnits(accessUnit(nals), 4).map((nal) => Uint8Array.from(nal)),
          nals.filter(({ length }) => length > 0),
        );
      }),
    );
  });

  it('can have lengths of one or two bytes', () => {
    assert.deepEqual(nalUnits(Uint8Array.of(2, 7, 8, 1, 9), 1), [Uint8Array.of(7, 8), Uint8Array.of(9)]);
    assert.deepEqual(nalUnits(Uint8Array.of(0, 2, 7, 8), 2), [Uint8Array.of(7, 8)]);
  });

  it('are refused when a length is truncated or runs past the end, even a length of 2^32 - 1', () => {
    for (const data of [
      [0, 0, 1],
      [0, 0, 0, 2, 0x65],
      [0xff, 0xff, 0xff, 0xff, 0x65],
    ]) {
      assert.throws(() => nalUnits(Uint8Array.from(data), 4), { code: 'malformed_access_unit' });
    }
  });

  it('in any bytes are found or refused, and never exceed the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.constantFrom(1, 2, 4), (data, lengthSize) => {
        try {
          const found = nalUnits(data, lengthSize);
          assert.ok(found.reduce((sum, { length }) => sum + length + lengthSize, 0) <= data.length);
        } catch (error) {
          assert.ok(error instanceof MalformedAccessUnitError);
        }
      }),
    );
  });
});

describe('emulation prevention', () => {
  it('is removed from any payload', () => {
    const payload = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 2, 3, 4) }, fc.nat(255)));
    fc.assert(
      fc.property(payload, (values) => {
        const bytes = Uint8Array.from(values);
        assert.deepEqual(Uint8Array.from(withoutEmulationPrevention(withEmulationPrevention(bytes))), bytes);
      }),
    );
  });
});
