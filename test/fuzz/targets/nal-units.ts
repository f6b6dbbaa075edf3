/**
 * The splitter of NAL units, and the removal of emulation prevention bytes.
 */
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { withoutEmulationPrevention } from '#media/nal.ts';
import { nalUnits } from '../../support/nal-units.ts';
import { UNITS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const LENGTH_SIZES = [4, 1, 2] as const;

/** The first byte of an input says how many bytes the length of a NAL unit has. */
export const nalUnitsTarget: Target = {
  name: 'nal-units',
  corpus: [...UNITS.h264, ...UNITS.h265].map((unit) => Buffer.concat([Buffer.of(0), unit])),
  dictionary: [Uint8Array.of(0, 0, 3), Uint8Array.of(0, 0, 0, 1)],
  expected: [MalformedAccessUnitError],
  open: () => ({
    read(input) {
      const lengthSize = LENGTH_SIZES[(input[0] ?? 0) % LENGTH_SIZES.length]!;
      const data = input.subarray(1);
      let bytes = 0;
      let units = 0;
      let removed = 0;
      for (const nal of nalUnits(data, lengthSize)) {
        bytes += lengthSize + nal.length;
        units += 1;
        removed += nal.length - withoutEmulationPrevention(nal).length;
        must(nal.length > 0, () => 'an empty unit');
      }
      must(bytes <= data.length && removed * 3 <= bytes, () => `${bytes} bytes of ${data.length}, ${removed} removed`);
      return behaviour(lengthSize, magnitude(units), magnitude(removed), magnitude(bytes));
    },
  }),
};
