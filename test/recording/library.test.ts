/**
 * Tests what viewers get of recordings: playlists that keep the rules of HLS, and the same media as live.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import fc from 'fast-check';
import * as HLS from 'hls-parser';
import { Parser } from 'm3u8-parser';
import { MillraceError } from '#domain/errors.ts';
import type { MediaPath } from '#domain/ids.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { IndexRecord } from '#recording/index-record.ts';
import { RecordingLibrary } from '#recording/library.ts';
import { LocalFileReader } from '#recording/reader/reader.ts';
import type { ByteSource, Excerpt, Recorded } from '#recording/recording.ts';
import { partSize, RecordingIndex } from '#recording/recording-index.ts';
import { recordedViolations } from '../support/event-playlist-rules.ts';
import { audioTrack, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { recorded, Studio } from '../support/recording-studio.ts';
import { waitFor } from '../support/wait-for.ts';

const both = { video: videoTrack(), audio: audioTrack() };
const EPOCH = 1_790_000_000_000;
const TARGET_S = 4;

const noStill = () => assert.fail('no picture is made');

/** A library of a studio's recordings. */
function libraryOf(studio: Studio, parts: AsyncDisposableStack): RecordingLibrary {
  const reader = parts.use(new LocalFileReader({ folder: studio.folder }));
  return new RecordingLibrary({ reader, recorders: studio.recorders, makeStill: noStill });
}

async function bytesOf(source: ByteSource): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source.read(0, source.sizeBytes, new AbortController().signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Two stock parsers find the same in a media playlist as the reader of the rule checker. */
function assertParsed(text: string): void {
  const { segments, ended, discontinuitySequence } = readMediaPlaylist(text);
  const parsed = HLS.parse(text) as HLS.types.MediaPlaylist;
  assert.deepEqual([parsed.endlist, parsed.playlistType, parsed.targetDuration], [ended, 'EVENT', TARGET_S]);
  const parser = new Parser();
  parser.push(text);
  parser.end();
  const { manifest } = parser;
  assert.deepEqual([manifest.endList === true, manifest.discontinuitySequence], [ended, discontinuitySequence]);
  const expected = segments.map(({ uri, durationS, discontinuity }) => [uri, durationS, discontinuity]);
  const found = parsed.segments.map(({ uri, duration, discontinuity }) => [uri, duration, discontinuity === true]);
  assert.deepEqual(found, expected);
  const other = manifest.segments.map(({ uri, duration, discontinuity }) => [uri, duration, discontinuity === true]);
  assert.deepEqual(other, expected);
}

const textOf = (recording: Recorded, rendition: string, skip = false): string =>
  recording.playlist(rendition, {}, { skip })?.text ?? '';

describe('a recording that runs', () => {
  test('has playlists that are only appended to, the same in all renditions, and end when it does', async () => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const recorder = studio.begin();
    const library = libraryOf(studio, parts);
    const { feed, memory } = recorded(recorder, both);
    const history = new Map<string, { text: string; delta: string }[]>([
      ['source', []],
      ['audio', []],
    ]);
    const look = async () => {
      await studio.idle();
      const recording = await library.open(studio.path);
      for (const [rendition, seen] of history) {
        const text = textOf(recording!, rendition);
        if (text !== '') seen.push({ text, delta: textOf(recording!, rendition, true) });
      }
    };
    for (let second = 0; second < 40; second++) {
      feed.play(1);
      await look();
    }
    await feed.pause(20);
    for (let second = 0; second < 10; second++) {
      feed.play(1);
      await look();
    }
    await feed.session.end();
    await recorder.end();
    await look();
    assert.deepEqual(recordedViolations(history, TARGET_S), []);
    for (const seen of history.values()) for (const { text } of [seen[5]!, seen.at(-1)!]) assertParsed(text);
    const last = readMediaPlaylist(history.get('source')!.at(-1)!.text);
    assert.ok(last.ended && last.segments.length >= 24);
    assert.equal(last.segments.filter(({ discontinuity }) => discontinuity).length, 1);
    assert.ok(history.get('source')!.some(({ delta }) => readMediaPlaylist(delta).skipped > 0));

    const recording = (await library.open(studio.path))!;
    assert.equal(recording.isRunning, false);
    const media = await recording.media('source', '3.m4s', {});
    assert.equal(media?.contentType, 'video/mp4');
    assert.deepEqual(await bytesOf(media!), memory.bytes('source', 3));
    assert.ok((await recording.media('audio', 'init-0.mp4', {}))!.sizeBytes > 100);
    for (const name of ['99.m4s', '3', '3.mp4', '03.m4s', 'init-1.mp4', '../manifest.json', '-1.m4s', '1e1.m4s']) {
      assert.equal(await recording.media('source', name, {}), undefined, name);
    }
    assert.match(recording.multivariant('?from=1'), /source\.m3u8\?from=1\n/);
  });

  test('has excerpts whose lengths are known while its index can be read', async () => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(8);
    await feed.session.end();
    const { fromMs } = await recorder.end();
    const excerpt = { fromMs: ms(fromMs! + 1000), untilMs: ms(fromMs! + 3500) };
    const recordings = libraryOf(studio, parts);
    // The first answer may take too long, because it waits for the reader's thread to start.
    const seconds = await waitFor(() => recordings.secondsIn(studio.path, false, excerpt), { what: 'the length' });
    assert.equal(seconds, 2.5);
    const index = () => Promise.reject(new MillraceError('recording_unavailable', 'The bucket is away.'));
    const reader = { index, read: assert.fail, movie: assert.fail };
    const library = new RecordingLibrary({ reader, recorders: { running: () => undefined }, makeStill: noStill });
    assert.equal(await library.secondsIn(studio.path, false, excerpt), undefined);
  });

  test('marks media as not final until its files are closed, and gives each place in the files an ETag of its own', async () => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(35); // four periods
    await studio.idle();
    const library = libraryOf(studio, parts);
    const finalsOf = async () => {
      const recording = (await library.open(studio.path))!;
      const names = ['0.m4s', '9.m4s', '12.m4s', '16.m4s', 'init-0.mp4'];
      const media = await Promise.all(names.map((name) => recording.media('source', name, {})));
      assert.equal(new Set(media.map((each) => each?.etag)).size, names.length);
      assert.deepEqual(
        media.map((each) => each?.durationMs),
        [2000, 2000, 2000, 2000, 0],
      );
      return media.map((each) => each?.isFinal);
    };
    assert.deepEqual(await finalsOf(), [true, true, false, false, false]);
    await feed.session.end();
    await recorder.end();
    assert.deepEqual(await finalsOf(), [true, true, true, true, true]);
  });

  test('is found while it is opened, and is another one after it was deleted', async () => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const library = libraryOf(studio, parts);
    assert.equal(await library.open(studio.path), undefined);
    const recorder = studio.begin();
    const { feed } = recorded(recorder, both);
    feed.play(5);
    assert.equal((await library.open(studio.path))?.isRunning, true);
    await feed.session.end();
    await recorder.end();
    const [one, other] = await Promise.all([library.open(studio.path), library.open(studio.path)]);
    assert.ok(one !== undefined && one === other);
    library.close(studio.path);
    rmSync(join(studio.folder, studio.path), { recursive: true });
    assert.equal(await library.open(studio.path), undefined);
  });
});

describe('an excerpt', () => {
  test('begins at the exact time within its first segment, and has no other media', async () => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const recorder = studio.begin();
    const library = libraryOf(studio, parts);
    const { feed } = recorded(recorder, both);
    feed.play(20);
    await feed.session.end();
    const { fromMs } = await recorder.end();
    const recording = (await library.open(studio.path))!;
    const at = (seconds: number): Milliseconds => ms(fromMs! + seconds * 1000);
    const excerpt = { fromMs: at(5), untilMs: at(9) };
    for (const rendition of ['source', 'audio']) {
      const { text, ended } = recording.playlist(rendition, excerpt, { skip: true })!;
      assert.ok(ended);
      assert.deepEqual(
        readMediaPlaylist(text).segments.map(({ msn }) => msn),
        [2, 3, 4],
      );
      assert.match(text, /#EXT-X-START:TIME-OFFSET=1\.0\d\d,PRECISE=YES\n/);
      assert.match(text, /#EXT-X-PLAYLIST-TYPE:VOD\n/);
    }
    assert.ok(await recording.media('source', '3.m4s', excerpt));
    for (const name of ['1.m4s', '5.m4s']) assert.equal(await recording.media('source', name, excerpt), undefined);
    assert.equal(recording.playlist('source', { fromMs: at(50) }, { skip: false }), undefined);
    assert.equal(
      recording.playlist('source', { fromMs: at(9), untilMs: at(9) }, { skip: false })?.text.includes('.m4s'),
      true,
    );
    assert.equal(recording.playlist('nothing', excerpt, { skip: false }), undefined);
    assert.equal(recording.timeAt(3), at(3));
    assert.equal(recording.timeAt(3, at(5)), at(8));
    assert.equal(recording.timeAt(1000), recording.extent.untilMs);
  });
});

describe('an excerpt up to the present', () => {
  test('has all of its media at once, or ends only when it has, and never changes after that', async () => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const recorder = studio.begin();
    const library = libraryOf(studio, parts);
    const { feed } = recorded(recorder, both);
    feed.play(11.6); // segments of two seconds
    await studio.idle();
    const recording = (await library.open(studio.path))!;
    const untilMs = recording.extent.untilMs!;
    const lastSeconds = (seconds: number): Excerpt => ({ fromMs: ms(untilMs - 1000 * seconds), untilMs });
    const text = (id: string, excerpt: Excerpt) => recording.playlist(id, excerpt, { skip: false })?.text;
    const { signal } = new AbortController();

    assert.equal(text('source', lastSeconds(1)), undefined, 'nothing of it is complete');
    const early = new Map(['source', 'audio'].map((id) => [id, text(id, lastSeconds(5))!]));
    for (const each of early.values()) assert.match(each, /TYPE:EVENT\n[\s\S]*\.m4s\n$/);
    const [one, other] = [1, 2].map(() => recording.playlist('source', lastSeconds(5), { skip: false }));
    assert.equal(one, other, 'one object for all who follow it');
    const waiting = recording.completed(lastSeconds(1), signal);
    const order: string[] = [];
    void waiting.then(() => order.push('complete'));
    await recording.completed({ fromMs: ms(untilMs - 9000), untilMs: ms(untilMs + 60_000) }, signal);
    order.push('an excerpt whose end is to come');
    feed.play(1);
    await waiting;
    assert.deepEqual(order, ['an excerpt whose end is to come', 'complete']);

    const complete = new Map<string, string>();
    for (const [id, before] of early) {
      for (const seconds of [1, 5]) {
        const found = text(id, lastSeconds(seconds))!;
        const { segments, ended } = readMediaPlaylist(found);
        const durationS = segments.reduce((sum, segment) => sum + segment.durationS, 0);
        const endMs = Date.parse(segments[0]!.programDateTime!) + 1000 * durationS;
        assert.ok(ended && endMs >= untilMs - 25, `${id} ends ${untilMs - endMs} ms before the excerpt`);
        complete.set(`${id} ${seconds}`, found);
      }
      assert.ok(complete.get(`${id} 5`)!.startsWith(before));
    }
    feed.play(9);
    await studio.idle();
    const assertSame = (change = (before: string) => before) => {
      for (const [name, before] of complete) {
        const [id, seconds] = name.split(' ');
        assert.equal(text(id!, lastSeconds(Number(seconds))), change(before));
      }
    };
    assertSame();
    await feed.session.end();
    await recorder.end();
    assertSame((before) => before.replace('TYPE:EVENT', 'TYPE:VOD'));
  });

  test('is not waited for by those who have gone, nor for longer than two target durations', async (t) => {
    await using parts = new AsyncDisposableStack();
    const studio = parts.use(new Studio());
    const library = libraryOf(studio, parts);
    const { feed } = recorded(studio.begin(), both);
    feed.play(3);
    await studio.idle();
    const recording = (await library.open(studio.path))!;
    const untilMs = recording.extent.untilMs!;
    const excerpt = { fromMs: ms(untilMs - 500), untilMs };
    const gone = AbortSignal.abort(new Error('gone'));
    await assert.rejects(recording.completed(excerpt, gone), /gone/);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let waited = 0;
    let isWaiting = true;
    void recording.completed(excerpt, new AbortController().signal).then(() => (isWaiting = false));
    for (; isWaiting; waited += 100) {
      t.mock.timers.tick(100);
      await new Promise(setImmediate);
    }
    assert.equal(waited, 2 * TARGET_S * 1000);
  });
});

/** A library with one recording, which exists in memory only. */
async function recordingOf(index: RecordingIndex): Promise<Recorded> {
  return (await libraryWith(index).open('somewhere' as MediaPath))!;
}

/** A library in which every path leads to a recording with this index. @param opened is told each path whose index is read */
function libraryWith(index: RecordingIndex, opened: (path: MediaPath) => void = () => undefined): RecordingLibrary {
  const manifest = { version: 1, sessionId: 'session', epoch: EPOCH, targetDurationS: TARGET_S } as const;
  return new RecordingLibrary({
    reader: {
      async index(path) {
        opened(path);
        return { index: index.data, manifest };
      },
      read: () => assert.fail('nothing is read'),
      movie: () => assert.fail('nothing is made'),
    },
    recorders: { running: () => undefined },
    makeStill: noStill,
  });
}

/** An index of segments of two seconds. @param has whether a rendition has a segment */
function indexOf(
  renditions: readonly string[],
  segments: number,
  has: (rendition: number, number: number) => boolean,
  isDiscontinuous: (number: number) => boolean = () => false,
  ticksOf: (rendition: number, number: number) => number = () => 2000,
): RecordingIndex {
  const index = new RecordingIndex();
  const apply = (record: IndexRecord) => {
    if (record.type === 'part') index.apply(partSize(record));
    else if (record.type !== 'sync') index.apply(record);
  };
  for (const [rendition, id] of renditions.entries()) {
    const kind = id === 'audio' ? 'audio' : 'video';
    const common = { codec: 'x', rfc6381: 'x', timescale: 1000 };
    const track =
      kind === 'audio'
        ? ({ kind, ...common, channels: 2, sampleRate: 48_000 } as const)
        : ({ kind, ...common, width: 1, height: 1, declaredFrameRate: undefined, videoRange: undefined } as const);
    apply({ type: 'init', rendition, id, number: 0, track, bytes: new Uint8Array(1) });
    for (let number = 0; number < segments; number++) {
      if (!has(rendition, number)) continue;
      const times = { startTicks: number * 2000, programDateTimeMs: EPOCH + number * 2000 };
      const flags = { discontinuity: isDiscontinuous(number), independent: true };
      apply({ type: 'segment', rendition, number, volume: 0, offset: 0, init: 0, ...times, ...flags });
      const samples = {
        sizes: Uint32Array.of(750_000),
        durations: Uint32Array.of(2000),
        compositionOffsets: Int32Array.of(0),
        keyframes: Uint8Array.of(1),
      };
      apply({ type: 'part', rendition, sizeBytes: 750_000, moofBytes: 100, crc32: 0, offsetTicks: 0, samples });
      apply({ type: 'segment_end', rendition, durationTicks: ticksOf(rendition, number) });
    }
  }
  return index;
}

describe('a library', () => {
  test('keeps many short recordings open, few long ones, and those that were used last', async () => {
    for (const [segments, kept] of [
      [10, 1000],
      [43_200, 7],
    ] as const) {
      const index = indexOf(['source', 'audio'], segments, () => true);
      index.apply({ type: 'end' });
      let reads = 0;
      const library = libraryWith(index, () => (reads += 1));
      const open = (number: number) => library.open(`recording ${number}` as MediaPath);
      for (let number = 0; number < kept; number += 1) await open(number);
      for (let number = 0; number < kept; number += 1) await open(number);
      assert.equal(reads, kept, `${kept} recordings of ${segments} segments stay open`);
      if (segments === 10) continue;
      await open(kept);
      await open(1);
      assert.equal(reads, kept + 1);
      await open(0);
      assert.equal(reads, kept + 2, 'the one that nobody used for longest was closed');
    }
  });
});

describe('playlists of a recording', () => {
  test('agree about numbers and discontinuities whatever a rendition lacks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 30 }),
        async (rows) => {
          // The source has every segment that anybody has.
          const index = indexOf(
            ['source', 'audio', '720p'],
            rows.length,
            (rendition, number) => rendition === 0 || rows[number]![rendition - 1]!,
            (number) => number > 0 && rows[number]![2],
          );
          const recording = await recordingOf(index);
          const history = new Map(
            ['source', 'audio', '720p'].map((id) => {
              const text = textOf(recording, id);
              return [id, text === '' ? [] : [{ text, delta: textOf(recording, id, true) }]] as const;
            }),
          );
          assert.deepEqual(recordedViolations(history, TARGET_S), []);
          for (const [rendition, id] of ['source', 'audio', '720p'].entries()) {
            const listed = history.get(id)!.flatMap(({ text }) => readMediaPlaylist(text).segments);
            const missing = listed.filter(({ gap }) => gap).map(({ msn }) => msn);
            const expected = listed
              .filter(({ msn }) => rendition > 0 && !rows[msn]![rendition - 1]!)
              .map(({ msn }) => msn);
            assert.deepEqual(missing, expected);
            // Players that do not know gaps load them.
            for (const msn of missing) assert.equal((await recording.media(id, `${msn}.m4s`, {}))?.sizeBytes, 8);
            const beyond = (listed.at(-1)?.msn ?? -1) + 1;
            assert.equal(await recording.media(id, `${beyond}.m4s`, {}), undefined);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('last equally long once it has ended, which Shaka Player needs to find its end', async () => {
    const lengths = [
      [2000, 2000, 438.3],
      [1984.4, 2005.3, 423.7],
    ];
    const index = indexOf(
      ['source', 'audio'],
      3,
      () => true,
      () => false,
      (rendition, number) => lengths[rendition]![number]!,
    );
    for (const excerpt of [{}, { fromMs: ms(EPOCH + 2500), untilMs: ms(EPOCH + 4200) }]) {
      index.apply({ type: 'end' });
      const recording = await recordingOf(index);
      const sums = ['source', 'audio'].map((id) =>
        readMediaPlaylist(recording.playlist(id, excerpt, { skip: false })!.text)
          .segments.reduce((sum, { durationS }) => sum + durationS, 0)
          .toFixed(7),
      );
      assert.equal(sums[0], sums[1]);
    }
  });

  test('of four hours are short: 300 kB, 40 kB compressed, 2 kB as a delta update', async (t) => {
    const recording = await recordingOf(indexOf(['source', 'audio'], 7200, () => true));
    const full = recording.playlist('source', {}, { skip: false })!;
    const compressed = await full.gzip();
    const delta = textOf(recording, 'source', true);
    t.diagnostic(`${full.text.length} bytes, ${compressed.length} compressed, ${delta.length} as a delta update`);
    assert.ok(full.text.length <= 300_000);
    assert.ok(compressed.length <= 40_000);
    assert.ok(delta.length <= 2000);
    assert.equal(String(await promisify(gunzip)(compressed)), full.text);
    assert.equal(recording.playlist('source', {}, { skip: false }), full, 'made once');
  });

  test('of a day are prepared in pieces that leave turns of the event loop to others, however many ask at once', async () => {
    // The audio has only the first and the last segment, so that the playlist states a gap in place of each of the others.
    const index = indexOf(['source', 'audio'], 43_200, (rendition, number) => rendition === 0 || number % 43_199 === 0);
    const [recording, unprepared] = [await recordingOf(index), await recordingOf(index)];
    for (const rendition of ['source', 'audio']) {
      let turns = 0;
      let isPrepared = false;
      const count = () => {
        turns += 1;
        if (!isPrepared) setImmediate(count);
      };
      count();
      await Promise.all(Array.from({ length: 30 }, () => recording.prepare(rendition)));
      isPrepared = true;
      assert.ok(turns >= 10, `${turns} turns of the event loop`);
      assert.equal(textOf(recording, rendition), textOf(unprepared, rendition));
    }
  });

  test('of a day whose media is at a CDN leave turns of the event loop to others while they are made', async () => {
    const index = indexOf(['source'], 43_200, () => true);
    index.apply({ type: 'end' });
    const recording = await recordingOf(index);
    const own = recording.playlist('source', {}, { skip: false })!;
    let turns = 0;
    let isMade = false;
    const count = () => {
      turns += 1;
      if (!isMade) setImmediate(count);
    };
    count();
    const { text } = await recording.publicPlaylist('source', own, 'https://cdn.example.com/kept');
    isMade = true;
    assert.ok(turns >= 20, `${turns} turns of the event loop`);
    assert.equal(text.match(/^https:\/\/cdn\.example\.com\/kept\/source\.\d+\.mp4$/gm)?.length, 43_200);
    assert.equal(text.split('\n').length, own.text.split('\n').length + 43_200);
  });

  test('are made once for all who ask for the same delta update, even when nobody asks for the whole playlist', async () => {
    const recording = await recordingOf(indexOf(['source'], 100, () => true));
    const delta = recording.playlist('source', {}, { skip: true })!;
    assert.match(delta.text, /#EXT-X-SKIP:/);
    assert.equal(recording.playlist('source', {}, { skip: true }), delta);
  });
});
