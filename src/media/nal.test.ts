import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MalformedAccessUnitError } from './malformed-access-unit.ts';
import { nalUnits, withoutEmulationPrevention } from './nal.ts';

/** NAL units behind lengths of 4 bytes. */
function accessUnit(nals: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    nals.flatMap((nal) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(nal.length);
      return [length, nal];
    }),
  );
}

/** What an encoder does (ITU-T H.264 §7.4.1.1): no three bytes 00 00 0x with x below 4 may stand in a NAL unit. */
function withEmulationPrevention(payload: Uint8Array): Uint8Array {
  const out: number[] = [];
  for (const byte of payload) {
    if (out.at(-1) === 0 && out.at(-2) === 0 && byte < 4) out.push(3);
    out.push(byte);
  }
  return Uint8Array.from(out);
}

describe('the NAL units of an access unit', () => {
  it('come back as they went in, without the empty ones', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (nals) => {
        assert.deepEqual(
          [...nalUnits(accessUnit(nals), 4)].map((nal) => Uint8Array.from(nal)),
          nals.filter(({ length }) => length > 0),
        );
      }),
    );
  });

  it('can stand behind lengths of one and two bytes', () => {
    assert.deepEqual([...nalUnits(Uint8Array.of(2, 7, 8, 1, 9), 1)], [Uint8Array.of(7, 8), Uint8Array.of(9)]);
    assert.deepEqual([...nalUnits(Uint8Array.of(0, 2, 7, 8), 2)], [Uint8Array.of(7, 8)]);
  });

  it('are views: no byte is copied', () => {
    const data = Uint8Array.of(0, 0, 0, 1, 0x65);
    assert.equal([...nalUnits(data, 4)][0]?.buffer, data.buffer);
  });

  it('end in the typed error when a length is cut or runs past the end, also one of 2^32 - 1', () => {
    for (const data of [
      [0, 0, 1],
      [0, 0, 0, 2, 0x65],
      [0xff, 0xff, 0xff, 0xff, 0x65],
    ]) {
      assert.throws(() => [...nalUnits(Uint8Array.from(data), 4)], { code: 'malformed_access_unit' });
    }
  });

  it('are found or refused in any bytes, and never reach outside them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.constantFrom(1, 2, 4), (data, lengthSize) => {
        try {
          const found = [...nalUnits(data, lengthSize)];
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
