/**
 * Tests recorders with their writer thread: what viewers got is on disk, byte for byte.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { newMediaPath } from '#domain/ids.ts';
import type { PartSink } from '#hls/hls.ts';
import { ms, ticks } from '#lib/units.ts';
import { indexName, volumeName } from '#recording/index-file.ts';
import { indexOfVolumes } from '#recording/index-rebuild.ts';
import { RecordedPlaylists } from '#recording/recorded-playlists.ts';
import { type RecordedRendition, readIndex } from '#recording/recording-index.ts';
import { readIndexOf } from '#recording/recovery.ts';
import { audioTrack, videoTrack } from '../support/hls-feed.ts';
import { recordingsFolder } from '../support/recording-folder.ts';
import { recorded, Studio } from '../support/recording-studio.ts';
import { CAN_MOUNT, mountSmallDisk } from '../support/small-disk.ts';
import { SteppedTime } from '../support/stepped-time.ts';
import { asEvent, markAt } from '../support/tracks.ts';
import { waitFor } from '../support/wait-for.ts';

const both = { video: videoTrack(), audio: audioTrack() };
/** The longest segment of a feed. */
const TARGET_S = 4;

const numbersOf = (rendition: RecordedRendition) =>
  Array.from({ length: rendition.segments.count }, (_, index) => rendition.segments.at(index)!.number);
const discontinuitiesOf = (rendition: RecordedRendition) =>
  Array.from({ length: rendition.segments.count }, (_, index) => rendition.segments.at(index)!.discontinuity);

describe('a recorder', () => {
  test('keeps the bytes that viewers got, in volumes that play by themselves', async () => {
    await using studio = new Studio();
    const recorder = studio.begin();
    const { feed, memory } = recorded(recorder, both);
    feed.play(31);
    await feed.session.end();
    const extent = await recorder.end();
    assert.ok(Math.abs(extent.durationS - 31) < 0.2, `${extent.durationS} s`);
    assert.deepEqual(
      extent.tracks.map(({ rendition, kind, codec }) => [rendition, kind, codec]),
      [
        ['source', 'video', 'h264'],
        ['audio', 'audio', 'aac'],
      ],
    );
    const index = readIndexOf(join(studio.folder, studio.path))!;
    assert.ok(index.hasEnded);
    for (const rendition of index.renditions) {
      const numbers = numbersOf(rendition);
      assert.deepEqual(numbers, Array.from(numbers.keys()), 'without holes');
      assert.ok(numbers.length >= 15);
      for (const number of numbers) {
        assert.deepEqual(
          studio.segment(rendition, number),
          memory.bytes(rendition.id, number),
          `${rendition.id} ${number}`,
        );
      }
    }
    const names = readdirSync(join(studio.folder, studio.path)).toSorted();
    const volumes = [0, 1, 2, 3].flatMap((volume) => [volumeName('audio', volume), volumeName('source', volume)]);
    assert.deepEqual(names, ['index', 'manifest.json', ...volumes].toSorted());
  });

  test('keeps the bytes of a rendition that ends and begins again within the same period', async () => {
    await using studio = new Studio({ volumeS: 60 });
    const recorder = studio.begin();
    // The audio ends after its segment 2, and begins again with its segment 6.
    let newest = 0;
    const sink: PartSink = {
      write: (id, packaged) => {
        if ('msn' in packaged) newest = packaged.msn;
        if (id !== 'audio' || packaged.type === 'init' || newest < 3 || newest > 5) recorder.write(id, packaged);
        if (id === 'audio' && packaged.type === 'segment' && packaged.msn === 2) recorder.write(id, { type: 'end' });
      },
    };
    const { feed, memory } = recorded(sink, both);
    feed.play(20);
    await feed.session.end();
    await recorder.end();
    const index = readIndexOf(join(studio.folder, studio.path))!;
    const audio = index.rendition('audio')!;
    const numbers = numbersOf(audio);
    assert.deepEqual(numbers.slice(0, 5), [0, 1, 2, 6, 7]);
    for (const rendition of index.renditions) {
      for (const [at, number] of numbersOf(rendition).entries()) {
        assert.deepEqual(
          studio.segment(rendition, at),
          memory.bytes(rendition.id, number),
          `${rendition.id} ${number}`,
        );
      }
    }
    assert.deepEqual(studio.warnings, []);
  });

  test('keeps nothing of a user whose recordings exceed the quota when it begins', async () => {
    await using studio = new Studio({ isOverQuota: () => true, onBegun: () => assert.fail('it is over') });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(12);
    await feed.session.end();
    assert.equal((await recorder.end()).durationS, 0);
    assert.deepEqual(studio.warnings, [['recording_over_quota', true]]);
    assert.deepEqual(readdirSync(join(studio.folder, studio.path)).toSorted(), ['index', 'manifest.json']);
  });

  test('leaves out the filler media while the publisher is away, in all renditions alike', async () => {
    await using studio = new Studio();
    const recorder = studio.begin();
    const { feed, memory } = recorded(recorder, both);
    feed.play(8.5);
    await feed.pause(30);
    feed.play(8.5);
    await feed.session.end();
    const extent = await recorder.end();
    assert.ok(extent.durationS > 16 && extent.durationS < 24, `${extent.durationS} s`);
    const [video, audio] = [recorder.index.rendition('source')!, recorder.index.rendition('audio')!];
    assert.deepEqual(numbersOf(video), numbersOf(audio));
    assert.deepEqual(numbersOf(video), Array.from(numbersOf(video).keys()));
    assert.deepEqual(discontinuitiesOf(video), discontinuitiesOf(audio));
    assert.equal(discontinuitiesOf(video).filter(Boolean).length, 1);
    assert.ok((memory.segments.get('source')?.size ?? 0) > video.segments.count + 3);
    // The wall-clock time of what was left out is still there.
    assert.ok(extent.untilMs! - extent.fromMs! > 46_000);
  });

  test('makes one recording of a publisher that is away twenty times, with audio and video in step after each', async () => {
    await using studio = new Studio();
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    let mediaS = 0;
    for (let times = 0; times <= 20; times++) {
      const lengthS = 4 + 0.37 * (times % 7);
      if (times > 0) await feed.pause(10 + 0.3 * times);
      feed.play(lengthS);
      mediaS += lengthS;
    }
    await feed.session.end();
    const { durationS } = await recorder.end();
    // Viewers got the segment of each interruption to its end, with the last frame repeated.
    assert.ok(durationS > mediaS - 0.2 && durationS < mediaS + 20 * TARGET_S, `${durationS} s of ${mediaS} s`);
    const [video, audio] = [recorder.index.rendition('source')!, recorder.index.rendition('audio')!];
    assert.deepEqual(numbersOf(video), Array.from(numbersOf(video).keys()));
    assert.deepEqual(numbersOf(audio), numbersOf(video));
    assert.deepEqual(discontinuitiesOf(audio), discontinuitiesOf(video));
    assert.equal(discontinuitiesOf(video).filter(Boolean).length, 20);
    for (const [at, isJoin] of discontinuitiesOf(video).entries()) {
      // A segment of audio begins with a whole packet, so up to a packet apart.
      const apartS = Math.abs(video.segments.at(at)!.startS - audio.segments.at(at)!.startS);
      if (isJoin) assert.ok(apartS <= 1024 / 48_000, `segment ${at}: audio and video begin ${apartS} s apart`);
    }
  });

  test('leaves out the silence of a publisher that stays connected', async () => {
    await using studio = new Studio();
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(8.5);
    for (let silentS = 0; silentS < 90; silentS += 0.25) feed.play(0.25, { video: true, audio: true });
    feed.play(8.5);
    await feed.session.end();
    const { durationS } = await recorder.end();
    assert.ok(durationS > 16 && durationS < 28, `${durationS} s`);
    const [video, audio] = [recorder.index.rendition('source')!, recorder.index.rendition('audio')!];
    assert.deepEqual(numbersOf(video), numbersOf(audio));
    assert.equal(discontinuitiesOf(video).filter(Boolean).length, 1);
  });

  test('continues after a pause of the process, with the next number, in new volumes, and after a discontinuity', async () => {
    await using studio = new Studio();
    const before = studio.begin();
    const first = recorded(before, both);
    first.feed.play(6.5);
    await before.pause();
    const after = studio.begin();
    const second = recorded(after, {
      ...both,
      startS: 20,
      presentation: { firstMediaSequence: 1_000_000, continued: true },
    });
    second.feed.play(6.5);
    await second.feed.session.end();
    await after.end();
    const index = readIndexOf(join(studio.folder, studio.path))!;
    for (const rendition of index.renditions) {
      assert.deepEqual(numbersOf(rendition), Array.from(numbersOf(rendition).keys()));
      assert.equal(discontinuitiesOf(rendition).filter(Boolean).length, 1);
      const restartAt = discontinuitiesOf(rendition).indexOf(true);
      assert.deepEqual(studio.segment(rendition, restartAt), second.memory.bytes(rendition.id, 1_000_000));
      assert.equal(rendition.segments.at(restartAt)?.volume, 1);
    }
  });

  test('keeps a picture for the next segment when the periods of the files are closed', async () => {
    const continued: number[] = [];
    await using studio = new Studio({ onContinued: (_, periods) => void continued.push(periods) });
    const before = studio.begin();
    recorded(before, both).feed.play(12);
    await before.pause();
    const recorder = studio.begin();
    await recorder.opened;
    recorder.picture({ kind: 'tile', atS: 13, jpeg: Uint8Array.of(0xff, 0xd8) });
    const { feed } = recorded(recorder, { ...both, startS: 14 });
    feed.play(8);
    await feed.session.end();
    await recorder.end();
    assert.deepEqual(continued, [2], 'from then on the first two periods may be uploaded');
    const { pictures } = readIndexOf(join(studio.folder, studio.path))!;
    assert.deepEqual(
      pictures.map(({ atMs, period }) => [atMs, period]),
      [[13_000, 2]],
    );
  });

  test('changes the volume with the configuration, and keeps both init segments', async () => {
    await using studio = new Studio({ volumeS: 600 });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(5);
    feed.reconfigure(videoTrack({ width: 640, height: 360, config: Buffer.from([...videoTrack().config, 0]) }));
    feed.play(5);
    await feed.session.end();
    await recorder.end();
    const source = recorder.index.rendition('source')!;
    assert.deepEqual(
      source.data.inits.map(({ number, track }) => [number, track.kind === 'video' && track.width]),
      [
        [0, 1280],
        [1, 640],
      ],
    );
    const volumes = new Set(
      Array.from({ length: source.segments.count }, (_, index) => source.segments.at(index)!.volume),
    );
    assert.deepEqual([...volumes], [0, 1]);
  });

  test('has the discontinuity of a source that becomes so small that a rendition ends before it', async () => {
    await using studio = new Studio();
    const recorder = studio.begin();
    const { feed } = recorded(recorder, { video: videoTrack() });
    feed.presentation.write('small', { type: 'track', track: videoTrack({ width: 640, height: 360 }) });
    feed.play(4.6);
    for (let frame = 0; frame < 130; frame += 1) {
      const at = ticks(frame * 3000);
      const keyframe = frame % 60 === 0;
      const mark = keyframe ? { mark: markAt(frame / 60) } : {};
      const packet = { kind: 'video', dts: at, pts: at, keyframe, data: Buffer.alloc(9), ...mark } as const;
      feed.presentation.write('small', asEvent(packet));
    }
    feed.reconfigure(videoTrack({ width: 320, height: 180, config: Buffer.from([...videoTrack().config, 0]) }));
    feed.presentation.write('small', { type: 'end' });
    feed.play(6);
    const live = (await feed.text('source'))!.match(/^#EXT-X-DISCONTINUITY$/gm);
    await feed.session.end();
    await recorder.end();
    const { index } = recorder;
    const [source, small] = [index.rendition('source')!, index.rendition('small')!];
    const marked = discontinuitiesOf(source).indexOf(true);
    assert.equal(discontinuitiesOf(source).filter((isSo) => isSo).length, live?.length);
    assert.equal(numbersOf(small).at(-1), numbersOf(source)[marked], 'the rest of the rendition has its number');
    for (const rendition of [source, small]) {
      const text = new RecordedPlaylists(TARGET_S).whole(index, rendition, { skip: false, hasEnded: true }).text;
      assert.equal(text.match(/^#EXT-X-DISCONTINUITY$/gm)?.length, 1, rendition.id);
    }
  });

  test('can be settled after its process has ended, even twice', async () => {
    await using studio = new Studio();
    const recorder = studio.begin();
    recorded(recorder, both).feed.play(6.5);
    await recorder.pause();
    const extent = await studio.recorders.settle(studio.path);
    assert.ok(extent !== undefined && extent.durationS > 5);
    assert.deepEqual(await studio.recorders.settle(studio.path), extent);
    assert.equal(await studio.recorders.settle(newMediaPath()), undefined);
  });

  test('is not settled as lost while its folder cannot be read, or its volume is not mounted', async (t) => {
    const noteFile = join(recordingsFolder(t), 'note');
    await using studio = new Studio({ noteFile });
    const recorder = studio.begin();
    recorded(recorder, both).feed.play(6.5);
    await recorder.pause();
    const unreadable = newMediaPath();
    symlinkSync(unreadable, join(studio.folder, unreadable));
    await assert.rejects(studio.recorders.settle(unreadable), /ELOOP/);
    renameSync(studio.folder, `${studio.folder}-away`);
    mkdirSync(studio.folder);
    await assert.rejects(studio.recorders.settle(studio.path), /mount its volume/);
    rmSync(studio.folder, { recursive: true });
    renameSync(`${studio.folder}-away`, studio.folder);
    assert.ok((await studio.recorders.settle(studio.path)) !== undefined);
  });

  test('records the source only when the operator says so', async () => {
    await using studio = new Studio({ renditions: 'source' });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(4.5);
    recorder.write('720p', {
      type: 'segment_start',
      msn: 0,
      init: 'init-0.mp4',
      startS: 0,
      programDateTimeMs: 0,
      discontinuity: false,
      independent: true,
    });
    await feed.session.end();
    const { tracks } = await recorder.end();
    assert.deepEqual(
      tracks.map(({ rendition }) => rendition),
      ['source', 'audio'],
    );
  });

  test('ends at the longest duration of a recording, and warns about it, also after a restart', async () => {
    await using studio = new Studio({ maxHours: 10 / 3600 });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    for (let second = 0; second < 30; second++) {
      feed.play(1);
      await studio.idle();
    }
    await waitFor(() => existsSync(join(studio.folder, studio.path, 'index')), { what: 'the end' });
    await feed.session.end();
    const { durationS } = await recorder.end();
    assert.ok(durationS >= 10 && durationS < 16, `${durationS} s`);
    const warning = ['recording_limit_reached', true];
    assert.deepEqual(studio.warnings.splice(0), [warning]);
    await studio.begin().opened;
    assert.deepEqual(studio.warnings, [warning]);
  });

  test('ends before its index is larger than readers take', async () => {
    await using studio = new Studio({ maxIndexBytes: 5000 });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    const index = join(studio.folder, studio.path, 'index');
    for (let second = 0; second < 120 && !existsSync(index); second++) {
      feed.play(1);
      await studio.idle();
    }
    await feed.session.end();
    await recorder.end();
    const { size } = statSync(index);
    assert.ok(size >= 5000 && size < 10_000, `${size} bytes`);
    assert.deepEqual(studio.warnings, [['recording_limit_reached', true]]);
  });

  test('warns when the recording of a session that goes on had ended before', async () => {
    await using studio = new Studio();
    const before = studio.begin();
    const { feed } = recorded(before, both);
    feed.play(6.5);
    await feed.session.end();
    await before.end();
    assert.deepEqual(studio.warnings, []);
    await studio.begin(studio.path, { isContinued: true }).opened;
    assert.deepEqual(studio.warnings, [['recording_limit_reached', true]]);
  });

  test('warns of its end also when its recording has left the disk for the bucket', async () => {
    const clock = new SteppedTime();
    let answers = 0;
    await using studio = new Studio({
      clock: clock.clock,
      hasEndedInBucket: async (path) => {
        assert.equal(path, studio.path);
        answers += 1;
        if (answers === 1) throw new Error('The bucket does not answer.');
        return true;
      },
    });
    const recorder = studio.begin(studio.path, { isContinued: true });
    await recorder.opened;
    await waitFor(() => answers === 1, { what: 'the first question' });
    assert.deepEqual(studio.warnings, [['recording_stopped', true]]);
    const { feed } = recorded(recorder, both);
    await clock.advance(5000, async () => {});
    feed.play(10);
    await waitFor(() => studio.warnings.length >= 4, { what: 'the warning of the end' });
    const expected = [
      ['recording_stopped', true],
      ['recording_stopped', true],
      ['recording_stopped', false],
      ['recording_limit_reached', true],
    ];
    assert.deepEqual(studio.warnings, expected);
    await clock.advance(60_000, async () => {});
    feed.play(10);
    await studio.idle();
    await feed.session.end();
    await assert.rejects(recorder.end());
    assert.deepEqual([studio.warnings, answers], [expected, 2], 'nothing is tried again');
    assert.equal(existsSync(join(studio.folder, studio.path)), false);
  });
});

describe('a recorder whose disk', () => {
  test('hangs has one gap, warns at once, and goes on when the disk does', async () => {
    await using studio = new Studio({ maxPendingBytes: 1_000_000 });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, { ...both, frameBytes: 10_000 });
    for (let second = 0; second < 5; second++) {
      feed.play(1);
      await studio.idle();
    }
    await waitFor(() => (recorder.index.leader?.segments.count ?? 0) > 1 && studio.recorders.pendingBytes === 0, {
      what: 'the writer',
    });
    // A pipe without a reader holds up whoever opens it, like a disk that does not answer.
    const other = newMediaPath();
    const release = holdUp(join(studio.folder, other));
    studio.begin(other);
    await new Promise((resolve) => setImmediate(resolve)); // the writer is told
    feed.play(20);
    assert.deepEqual(studio.warnings.at(-1), ['recording_behind', true]);
    assert.ok(studio.recorders.pendingBytes <= 1_000_000);
    await release();
    await studio.idle();
    feed.play(8.5);
    await feed.session.end();
    await recorder.end();
    for (const rendition of recorder.index.renditions) {
      assert.deepEqual(
        numbersOf(rendition).toSorted((a, b) => a - b),
        numbersOf(rendition),
      );
      assert.equal(discontinuitiesOf(rendition).filter(Boolean).length, 1);
    }
  });

  test('hangs for long does not hold up the end, and the recording is settled when the disk is back', async () => {
    await using studio = new Studio({ durableWithinMs: 1000 });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(6.5);
    await feed.session.end();
    await waitFor(() => (recorder.index.leader?.completeCount ?? 0) > 1, { what: 'the writer' });
    const other = newMediaPath();
    const release = holdUp(join(studio.folder, other));
    studio.begin(other);
    await assert.rejects(recorder.end(), /the disk does not answer/);
    assert.equal(studio.recorders.running(studio.path), undefined);
    await release();
    // It is tried again until the disk answers in time, as the service does.
    const settled = () => studio.recorders.settle(studio.path).catch(() => undefined);
    const extent = await waitFor(settled, { what: 'the recording to be settled' });
    assert.ok(extent.durationS > 6);
  });

  test('takes longer than a settlement waits is not asked again, and the next settlement has the outcome', async () => {
    await using studio = new Studio({ durableWithinMs: 100 });
    const before = studio.begin();
    const { feed } = recorded(before, both);
    feed.play(6.5);
    await feed.session.end();
    await waitFor(() => (before.index.leader?.completeCount ?? 0) > 1, { what: 'the writer' });
    await before.pause().catch(() => undefined);
    const other = newMediaPath();
    const release = holdUp(join(studio.folder, other));
    studio.begin(other);
    await assert.rejects(studio.recorders.settle(studio.path), /the disk does not answer/);
    await release();
    await waitFor(() => existsSync(join(studio.folder, studio.path, 'index')), { what: 'the end' });
    const extent = await waitFor(() => studio.recorders.settle(studio.path).catch(() => undefined), {
      what: 'the extent',
    });
    assert.ok(extent.durationS > 6);
  });

  test('has lost the files of a recording records nothing until it has them again', async () => {
    let nowMs = 0;
    const clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
    await using studio = new Studio({ clock });
    const folder = join(studio.folder, studio.path);
    const before = studio.begin();
    recorded(before, both).feed.play(4.5);
    await before.pause();
    renameSync(folder, `${folder}-away`);
    const recorder = studio.begin(studio.path, { isContinued: true });
    await recorder.opened;
    assert.deepEqual(studio.warnings, [['recording_stopped', true]]);
    assert.equal(existsSync(folder), false);
    renameSync(`${folder}-away`, folder);
    const { feed } = recorded(recorder, both);
    const isBack = () => studio.warnings.at(-1)?.[1] === false;
    await waitFor(
      async () => {
        nowMs += 6000;
        feed.play(2);
        await studio.idle();
        return isBack();
      },
      { what: 'the recording to go on' },
    );
    feed.play(6);
    await feed.session.end();
    const { durationS } = await recorder.end();
    assert.ok(durationS > before.extent.durationS + 4, `${durationS} s`);
  });

  test('is full warns, and records again once there is space', async () => {
    let nowMs = 0;
    const clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
    await using studio = new Studio({ clock });
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(4.5);
    await waitFor(() => studio.recorders.pendingBytes === 0 && (recorder.index.leader?.segments.count ?? 0) > 1, {
      what: 'the writer',
    });
    // The next volume cannot be made where a folder has its name.
    const blocked = join(studio.folder, studio.path, volumeName('source', 1));
    spawnSync('mkdir', [blocked]);
    feed.play(8);
    await waitFor(() => studio.warnings.at(-1)?.[0] === 'recording_stopped', { what: 'the writer' });
    assert.deepEqual(studio.warnings.at(-1), ['recording_stopped', true]);
    const before = recorder.index.leader!.completeCount;
    rmSync(blocked, { recursive: true });
    nowMs += 6000;
    feed.play(6);
    await waitFor(() => studio.warnings.at(-1)?.[1] === false, { what: 'the writer' });
    feed.play(6);
    await feed.session.end();
    await recorder.end();
    const index = readIndexOf(join(studio.folder, studio.path))!;
    const source = index.rendition('source')!;
    assert.ok(source.segments.count > before + 2);
    // The audio may have begun the segment that the video could not.
    const numbers = [...new Set(index.renditions.flatMap(numbersOf))].toSorted((a, b) => a - b);
    assert.deepEqual(numbers, Array.from(numbers.keys()));
    assert.equal(discontinuitiesOf(source).filter(Boolean).length, 1);
  });
});

const FULL = [
  { what: 'ends in the middle of a write', minFreeBytes: 0, leaveKib: 0 },
  { what: 'has less free space than it must have', minFreeBytes: 1024 * 1024, leaveKib: 512 },
];
describe('a recorder on a file system that', { skip: CAN_MOUNT ? false : 'this process may not mount one' }, () => {
  for (const { what, minFreeBytes, leaveKib } of FULL) {
    test(`${what} stops, keeps what it has, and goes on once there is space`, async () => {
      let nowMs = 0;
      const clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
      await using studio = new Studio({ clock, minFreeBytes });
      using disk = mountSmallDisk(studio.folder, 4);
      const recorder = studio.begin();
      const { feed, memory } = recorded(recorder, both);
      const newest = () => studio.warnings.at(-1)?.[1];
      // A little more time each round, because the recorder and its writer look at the space only now and then.
      const playUntil = (isStopped: boolean) =>
        waitFor(
          async () => {
            nowMs += 6000;
            feed.play(2);
            await studio.idle();
            return newest() === isStopped;
          },
          { what: isStopped ? 'the recording to stop' : 'it to go on' },
        );
      feed.play(12.5);
      await studio.idle();
      disk.fill(leaveKib);
      await playUntil(true);
      const { count } = recorder.index.leader!.segments;
      disk.free();
      await playUntil(false);
      feed.play(12.5);
      await feed.session.end();
      await recorder.end();
      const changes = studio.warnings.filter(([, isRaised], at, all) => isRaised !== all[at - 1]?.[1]);
      assert.deepEqual(changes, [
        ['recording_stopped', true],
        ['recording_stopped', false],
      ]);

      const index = readIndexOf(join(studio.folder, studio.path))!;
      assert.ok(index.hasEnded && index.leader!.segments.count >= count + 6);
      assert.equal(discontinuitiesOf(index.leader!).filter(Boolean).length, 1);
      for (const rendition of index.renditions) {
        const live = [...memory.segments.get(rendition.id)!.values()].map((pieces) => Buffer.concat(pieces));
        for (let at = 0; at < rendition.segments.count; at += 1) {
          const bytes = studio.segment(rendition, at);
          const isLive = live.some((each) => each.subarray(0, bytes.length).equals(bytes));
          assert.ok(bytes.length > 0 && isLive, `${rendition.id} ${at} is torn`);
        }
      }
      const { bytes } = indexOfVolumes(join(studio.folder, studio.path));
      assert.equal(readIndex([bytes]).leader!.segments.count, index.leader!.segments.count, 'the volumes are whole');
    });
  }
});

/** Makes a recording whose first index file holds up the writer. @returns lets the writer go on */
function holdUp(folder: string): () => Promise<unknown> {
  spawnSync('mkdir', [folder]);
  const pipe = join(folder, indexName(0));
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  return () => once(spawn('sh', ['-c', `exec 3>'${pipe}'`]), 'exit');
}
