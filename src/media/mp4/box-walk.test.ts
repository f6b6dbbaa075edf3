import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { CONFIGS } from '#test/fuzz/recorded.ts';
import { wholeFragment } from '#test/support/whole-fragment.ts';
import { box, bytes, serialize } from './box.ts';
import { type ReadAt, type Walked, walkBoxes } from './box-walk.ts';
import { readFragment } from './fragment-reader.ts';
import { initSegment } from './init-segment.ts';
import { sampleDefaults } from './sample-defaults.ts';

const TRACK = codecOf('h264').parseConfig(CONFIGS.h264[0]!);

/** Reads memory as a file is read: fewer bytes at its end. */
const reader =
  (file: Uint8Array): ReadAt =>
  (at, sizeBytes) =>
    file.subarray(at, at + sizeBytes);

const walk = (file: Uint8Array, from = 0): readonly Walked[] => [...walkBoxes(reader(file), from, file.length)];

const part = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 120 }).map((payloads) =>
  wholeFragment(
    TRACK,
    0,
    payloads.map((data, index) => ({
      dts: ticks(index * 3000),
      pts: ticks(index * 3000),
      durationTicks: 3000,
      keyframe: index === 0,
      data,
    })),
  ),
);
const record = fc.uint8Array({ minLength: 16, maxLength: 60 }).map((body) => serialize(box('uuid', bytes(body))));
/** A volume as pieces that are appended whole. */
const volume = fc
  .array(fc.oneof(part, record), { maxLength: 6 })
  .map((pieces) => [...initPieces(initSegment(TRACK)), ...pieces]);

function initPieces(init: Uint8Array): readonly Uint8Array[] {
  const ftypBytes = Buffer.from(init).readUInt32BE();
  return [init.subarray(0, ftypBytes), init.subarray(ftypBytes)];
}

/** Where pieces end, beginning with 0. */
const ends = (pieces: readonly Uint8Array[]): readonly number[] => {
  let at = 0;
  return [0, ...pieces.map(({ length }) => (at += length))];
};

it('a volume is walked from its start, or from any of its boxes, to its end', () => {
  fc.assert(
    fc.property(volume, fc.nat(), (pieces, drawn) => {
      const bounds = ends(pieces);
      const first = drawn % bounds.length;
      const steps = walk(Buffer.concat(pieces), bounds[first]);
      assert.deepEqual(
        steps.map(({ at }) => at),
        bounds.slice(first),
      );
      assert.equal(steps.at(-1)?.type, 'end');
      for (const [index, step] of steps.entries()) {
        const piece = pieces[first + index];
        if (step.type === 'fragment') {
          assert.deepEqual(readFragment(step.head, sampleDefaults(TRACK)), readFragment(piece!, sampleDefaults(TRACK)));
        }
        if (step.type === 'box') assert.equal(Buffer.from(piece!).toString('latin1', 4, 8), step.name);
      }
    }),
  );
});

it('a volume that is cut anywhere ends after its last whole piece, whatever follows', () => {
  fc.assert(
    fc.property(volume, fc.nat(), fc.constantFrom('nothing', 'zeros', 'the length alone'), (pieces, drawn, tail) => {
      const file = Buffer.concat(pieces);
      const cut = drawn % file.length;
      const until = ends(pieces).findLast((end) => end <= cut);
      if (tail === 'nothing') assert.equal(walk(file.subarray(0, cut)).at(-1)?.at, until);
      // A file system may know the new length of a file and none of its last bytes. A cut in a payload does not show in boxes.
      if (tail === 'zeros' && cut - until! < 8) {
        const torn = Buffer.concat([file.subarray(0, cut), Buffer.alloc(64)]);
        assert.equal(walk(torn).at(-1)?.at, until);
      }
      // The file is shorter than what is asked for.
      if (tail === 'the length alone') {
        const steps = [...walkBoxes(reader(file.subarray(0, cut)), 0, file.length)];
        assert.ok(steps.at(-1)!.at <= file.length);
      }
    }),
  );
});

it('any bytes are walked with progress to an end within them', () => {
  const noise = fc.array(
    fc.oneof(
      part,
      record,
      fc.uint8Array({ maxLength: 40 }),
      fc.constant(serialize(box('moof'))),
      fc.constant(serialize(box('mdat'))),
    ),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(noise, fc.nat(), fc.integer({ min: 0, max: 255 }), (pieces, drawn, flip) => {
      const file = Buffer.concat(pieces);
      if (file.length > 0) file[drawn % file.length]! ^= flip;
      let at = 0;
      for (const step of walkBoxes(reader(file), 0, file.length)) {
        assert.equal(step.at, at);
        if (step.type === 'end') return;
        assert.ok(step.sizeBytes >= 8);
        at += step.sizeBytes;
        assert.ok(at <= file.length);
      }
      assert.fail('the walk has no end');
    }),
    { numRuns: 1000 },
  );
});
