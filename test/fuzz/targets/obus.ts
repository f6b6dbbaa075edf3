/**
 * The splitter of AV1's open bitstream units (OBUs).
 */
import assert from 'node:assert/strict';
import { obus } from '#media/codecs/av1-obu.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { UNITS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** The units together must cover all bytes of the input. */
export const obusTarget: Target = {
  name: 'obus',
  corpus: UNITS.av1,
  dictionary: [Uint8Array.of(0x12, 0), Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f)],
  expected: [MalformedAccessUnitError],
  open: () => ({
    read(input) {
      let bytes = 0;
      let kinds = 0;
      for (const { type, payload, whole } of obus(input)) {
        must(whole.length > payload.length, () => 'a unit without a header');
        bytes += whole.length;
        kinds |= 1 << type;
      }
      assert.equal(bytes, input.length, 'the units do not cover the input');
      return behaviour(kinds, magnitude(bytes));
    },
  }),
};
