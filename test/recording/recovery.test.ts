import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ticks } from '#lib/units.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import type { Track } from '#media/track.ts';
import { extentOf } from '#recording/extent.ts';
import { encodeRecord, volumeName } from '#recording/index-file.ts';
import { fragmentBytesIn } from '#recording/index-rebuild.ts';
import type { InitRecord, SegmentRecord } from '#recording/index-record.ts';
import { recordBox, volumeHead } from '#recording/record-box.ts';
import { recover } from '#recording/recovery.ts';
import type { WriterStep } from '#recording/writer/protocol.ts';
import { RecordingFiles } from '#recording/writer/recording-files.ts';
import { audioTrack, videoTrack } from '../support/hls-feed.ts';
import { wholeFragment } from '../support/whole-fragment.ts';

const TRACKS: readonly Track[] = [videoTrack(), audioTrack()];
/** The parent of the tests' folders: in memory where that is possible, because thousands of files are made durable. */
const TEMPORARY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const MANIFEST = { version: 1, sessionId: 'session', epoch: 0, targetDurationS: 2 } as const;
const PARTS_PER_SEGMENT = 3;
const SEGMENTS_PER_PERIOD = 2;

const inits: readonly InitRecord[] = TRACKS.map((track, rendition) => ({
  type: 'init',
  rendition,
  id: track.kind === 'video' ? 'source' : 'audio',
  number: 0,
  track:
    track.kind === 'video'
      ? { ...track, rfc6381: track.codecString }
      : { ...track, rfc6381: track.codecString, sampleRate: track.sampleRate },
  bytes: initSegment(track),
}));

/**
 * The bytes of a part. They differ from those of all other parts, so that a test can see whether an adopted part is whole and in its place.
 */
function partBytes(rendition: number, number: number, part: number): Uint8Array {
  const track = TRACKS[rendition]!;
  const dts = ticks((number * PARTS_PER_SEGMENT + part) * track.timescale);
  const data = new Uint8Array(60 + 7 * ((number + part) % 5)).fill(1 + rendition + 16 * part + number);
  return wholeFragment(track, number * PARTS_PER_SEGMENT + part + 1, [
    { dts, pts: dts, durationTicks: track.timescale, keyframe: true, data },
  ]);
}

type Step = WriterStep extends infer Each ? (Each extends { path: string } ? Omit<Each, 'path'> : never) : never;

/** All steps of a recording of some segments in two renditions. */
function* stepsOf(segments: number): Generator<{ step: Step; part?: string }> {
  yield { step: { type: 'open', manifest: MANIFEST, mustExist: false } as Step };
  const sizes = [0, 0];
  for (let number = 0; number < segments; number++) {
    for (const [rendition, init] of inits.entries()) {
      const period = Math.floor(number / SEGMENTS_PER_PERIOD);
      if (number % SEGMENTS_PER_PERIOD === 0) {
        const head = volumeHead(init);
        if (number === 0) yield { step: { type: 'init', period, record: init } as Step };
        yield { step: { type: 'volume', period, init, head } as Step };
        sizes[rendition] = head.length;
      }
      const record: SegmentRecord = {
        type: 'segment',
        rendition,
        number,
        volume: period,
        offset: 0,
        init: 0,
        startTicks: number * PARTS_PER_SEGMENT * TRACKS[rendition]!.timescale,
        programDateTimeMs: number * 3000,
        discontinuity: false,
        independent: true,
      };
      const box = recordBox(record);
      sizes[rendition]! += box.length;
      const placed = encodeRecord({ ...record, offset: sizes[rendition]! });
      yield { step: { type: 'segment', rendition, box, record: placed } as Step };
    }
    for (let part = 0; part < PARTS_PER_SEGMENT; part++) {
      for (const rendition of inits.keys()) {
        const bytes = partBytes(rendition, number, part);
        sizes[rendition]! += bytes.length;
        const step = { type: 'part', rendition, offsetTicks: 0, bytes } as Step;
        yield { step, part: `${rendition} ${number} ${part}` };
      }
    }
  }
}

/** Reads every part that an index lists, and asserts that each is the one that was written in its place. */
function partsIn(folder: string): readonly string[] {
  const { index } = recover(folder);
  const found: string[] = [];
  for (const [rendition, { id, segments }] of index.renditions.entries()) {
    for (let at = 0; at < segments.count; at++) {
      const { number, volume, offset, sizeBytes } = segments.at(at)!;
      const file = readFileSync(join(folder, volumeName(id, volume)));
      let read = offset;
      for (let part = 0; read < offset + sizeBytes; part++) {
        const expected = partBytes(rendition, number, part);
        assert.deepEqual(file.subarray(read, read + expected.length), Buffer.from(expected), 'a torn part was adopted');
        read += expected.length;
        found.push(`${rendition} ${number} ${part}`);
      }
      assert.equal(read, offset + sizeBytes);
    }
  }
  return found;
}

/** Names of the files and how much of each is durable. */
type Durable = Map<string, number>;

describe('recovery', () => {
  it('after a power failure adopts all that was durable, and nothing that is torn', () => {
    const root = mkdtempSync(join(TEMPORARY, 'millrace-recovery-'));
    try {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 80 }),
          fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 }),
          fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
          fc.constantFrom('cut', 'zeros', 'noise'),
          (stepCount, syncEvery, chance, damage) => {
            const folder = mkdtempSync(join(root, 'case-'));
            const durable: Durable = new Map();
            const byInode = () =>
              new Map(readdirSync(folder).map((name) => [statSync(join(folder, name)).ino, name] as const));
            const files = new RecordingFiles(folder, (file) => {
              const { ino, size } = fstatSync(file);
              durable.set(byInode().get(ino)!, size);
            });
            const written: string[] = [];
            let synced = 0;
            let untilSync = syncEvery[0]!;
            let steps = 0;
            for (const { step, part } of stepsOf(8)) {
              if (steps++ === stepCount) break;
              files.do({ ...step, path: '' } as WriterStep, 0);
              if (part !== undefined) written.push(part);
              untilSync -= 1;
              if (untilSync > 0) continue;
              files.sync();
              synced = written.length;
              untilSync = syncEvery[steps % syncEvery.length]!;
            }
            files.abandon();
            damageFiles(folder, durable, damage, () => chance.next().value);
            const found = partsIn(folder);
            const missing = written.slice(0, synced).filter((part) => !found.includes(part));
            assert.deepEqual(missing, [], 'something durable was lost');
            for (const part of found) assert.ok(written.includes(part));
            // What recovery left behind is whole: it finds the same again, and new media goes on after it.
            assert.deepEqual(partsIn(folder), found);
            rmSync(folder, { recursive: true });
          },
        ),
        { numRuns: 1000 },
      );
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('after a kill at any moment loses at most the part in progress', () => {
    const folder = mkdtempSync(join(TEMPORARY, 'millrace-recovery-'));
    try {
      const files = new RecordingFiles(folder);
      const written: string[] = [];
      let copies = 0;
      for (const { step, part } of stepsOf(5)) {
        files.do({ ...step, path: '' } as WriterStep, 0);
        if (part === undefined) continue;
        written.push(part);
        // The kill comes while the next part is written.
        const copy = `${folder}-${copies++}`;
        cpSync(folder, copy, { recursive: true });
        const torn = readdirSync(copy).find((name) => name.startsWith('source.'));
        if (torn !== undefined) writeFileSync(join(copy, torn), partBytes(0, 4, 2).subarray(0, 50), { flag: 'a' });
        assert.deepEqual(partsIn(copy).toSorted(), written.toSorted());
        rmSync(copy, { recursive: true });
      }
      files.abandon();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('keeps the volumes of a period whose index file is lost, because the index can be made again from them', () => {
    const folder = mkdtempSync(join(TEMPORARY, 'millrace-recovery-'));
    const files = new RecordingFiles(folder);
    for (const { step } of stepsOf(5)) files.do({ ...step, path: '' } as WriterStep, 0);
    files.close();
    rmSync(join(folder, 'index.1'));
    const volumes = readdirSync(folder).filter((name) => name.endsWith('.mp4'));
    assert.equal(recover(folder).nextPeriod, 3);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.mp4')),
      volumes,
    );
    rmSync(folder, { recursive: true });
  });

  it('needs no volume that was durable, because it may be in the bucket only', () => {
    const folder = mkdtempSync(join(TEMPORARY, 'millrace-recovery-'));
    const files = new RecordingFiles(folder);
    for (const { step } of stepsOf(5)) files.do({ ...step, path: '' } as WriterStep, 0);
    files.abandon();
    for (const period of [0, 1]) for (const { id } of inits) rmSync(join(folder, volumeName(id, period)));
    for (const _ of ['the first time', 'and again']) {
      const { index, nextPeriod } = recover(folder);
      assert.deepEqual([index.lastNumber, nextPeriod], [4, 3]);
      for (const { segments } of index.renditions) assert.equal(segments.count, 5);
    }
    rmSync(folder, { recursive: true });
  });

  for (const isLater of [false, true]) {
    it(`of a copy whose volumes are older than its index${isLater ? ', and of which one is missing,' : ''} lists what they have`, () => {
      const folder = mkdtempSync(join(TEMPORARY, 'millrace-recovery-'));
      const files = new RecordingFiles(folder);
      const written: string[] = [];
      for (const { step, part } of stepsOf(5)) {
        files.do({ ...step, path: '' } as WriterStep, 0);
        if (part !== undefined) written.push(part);
      }
      files.close();
      const volume = join(folder, volumeName('audio', 1));
      truncateSync(volume, statSync(volume).size - 2 * partBytes(1, 3, 2).length);
      if (isLater) rmSync(join(folder, volumeName('audio', 2)));
      const found = partsIn(folder);
      const torn = written.indexOf('1 3 1');
      // Of the last segment, audio is written after the first part of the source.
      const isListed = (part: string) => part.split(' ')[1] === '4' && (!isLater || part === '0 4 0');
      const expected = written.filter((part, at) => at < torn || isListed(part));
      assert.deepEqual(found.toSorted(), expected.toSorted());
      assert.deepEqual(partsIn(folder), found);
      assert.equal(extentOf(recover(folder).index).sizeBytes, fragmentBytesIn(folder));
      rmSync(folder, { recursive: true });
    });
  }

  it('of a folder with nothing in it gives an empty recording', () => {
    const folder = mkdtempSync(join(TEMPORARY, 'millrace-recovery-'));
    const { index, nextPeriod } = recover(folder);
    assert.deepEqual([index.renditions.length, nextPeriod], [0, 0]);
    rmSync(folder, { recursive: true });
  });
});

/** Damages files as a power failure may: cuts them anywhere after their durable bytes, or leaves zeros or noise there. */
function damageFiles(folder: string, durable: Durable, damage: 'cut' | 'zeros' | 'noise', chance: () => number): void {
  for (const name of readdirSync(folder)) {
    if (name === 'manifest.json') continue;
    const path = join(folder, name);
    const { size } = statSync(path);
    const safe = durable.get(name) ?? 0;
    const left = safe + Math.floor(chance() * (size - safe + 1));
    if (damage === 'cut') {
      truncateSync(path, left);
      if (safe === 0 && left === 0 && chance() < 0.5) rmSync(path);
      continue;
    }
    const bytes = readFileSync(path);
    for (let at = left; at < size; at++) bytes[at] = damage === 'zeros' ? 0 : Math.floor(chance() * 256);
    writeFileSync(path, bytes);
  }
}
