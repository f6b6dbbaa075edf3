/**
 * Tests that a recording in the bucket is the same recording, and what of one can be seen whose machine is gone.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as HLS from 'hls-parser';
import { systemClock } from '#lib/clock.ts';
import { openBucket } from '#objects/engines.ts';
import { RecordingLibrary } from '#recording/library.ts';
import { BucketFileReader } from '#recording/reader/bucket-reader.ts';
import { LocalFileReader } from '#recording/reader/reader.ts';
import type { ByteSource, MovieViewer, Recorded } from '#recording/recording.ts';
import { Uploader } from '#recording/uploader.ts';
import { audioTrack, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type ObjectServer, startObjectServer } from '../support/object-server.ts';
import { recorded, Studio } from '../support/recording-studio.ts';
import { SteppedTime } from '../support/stepped-time.ts';

const both = { video: videoTrack(), audio: audioTrack() };
const never = new AbortController().signal;
const noStill = () => assert.fail('no picture is made');

interface World {
  /** The clock of the other machine. */
  readonly time: SteppedTime;
  readonly server: ObjectServer;
  readonly studio: Studio;
  readonly uploader: Uploader;
  /** A library on another machine, which has nothing but the bucket. */
  readonly elsewhere: RecordingLibrary;
  /** A library on the machine that records. */
  readonly here: RecordingLibrary;
}

/** A recording machine with a bucket, and another machine. */
async function worldOf(parts: AsyncDisposableStack): Promise<World> {
  const server = parts.use(await startObjectServer());
  const bucket = parts.use((await openBucket(server.settings, systemClock))!);
  const studio: Studio = parts.use(
    new Studio({
      // Otherwise a recording would fail whose folder a test on a busy machine moves away for more than two seconds.
      syncS: 0,
      onContinued: (path, periods) => uploader.closed(path, [...Array(periods).keys()]),
      onClosed: (path, periods) => uploader.closed(path, periods),
      onEnded: (path) => uploader.ended(path),
    }),
  );
  const listener = { stored: () => {}, failing: () => {}, waiting: () => {} };
  const uploader = parts.use(new Uploader({ folder: studio.folder, bucket, clock: systemClock, listener, graceMs: 0 }));
  const libraryIn = (folder: string) => {
    const local = parts.use(new LocalFileReader({ folder }));
    const reader = new BucketFileReader({ local, bucket, clock: systemClock });
    return new RecordingLibrary({ reader, recorders: studio.recorders, makeStill: noStill });
  };
  const empty = mkdtempSync(join(tmpdir(), 'millrace-elsewhere-'));
  parts.defer(() => rmSync(empty, { recursive: true }));
  const time = new SteppedTime();
  const nothing = parts.use(new LocalFileReader({ folder: empty }));
  const elsewhere = new RecordingLibrary({
    reader: new BucketFileReader({ local: nothing, bucket, clock: time.clock }),
    recorders: { running: () => undefined },
    makeStill: noStill,
  });
  return { time, server, studio, uploader, elsewhere, here: libraryIn(studio.folder) };
}

const VIEWER: MovieViewer = { address: '192.0.2.1', inTurn: (work) => work() };

async function bytesOf(source: ByteSource): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(source.read(0, source.sizeBytes, never)));
}

/** Everything that viewers can get of a recording. */
async function allOf(recording: Recorded): Promise<unknown> {
  const playlists = ['source', 'audio'].map((id) => recording.playlist(id, {}, { skip: false })?.text ?? '');
  const media: Buffer[] = [];
  for (const [index, id] of ['source', 'audio'].entries()) {
    for (const { msn } of readMediaPlaylist(playlists[index]!).segments) {
      media.push(await bytesOf((await recording.media(id, `${msn}.m4s`, {}))!));
    }
  }
  const movie = (await recording.mp4('source', {}, VIEWER))!;
  const { fromMs } = recording.extent;
  const clip = (await recording.mp4('source', { fromMs: fromMs!, untilMs: (fromMs! + 7000) as never }, VIEWER))!;
  return { playlists, media, movie: await bytesOf(movie), clip: await bytesOf(clip), etag: movie.etag };
}

test('a recording in the bucket is the same on a machine that has nothing of it', async () => {
  await using parts = new AsyncDisposableStack();
  const { server, studio, uploader, elsewhere, here } = await worldOf(parts);
  const recorder = studio.begin();
  const { feed } = recorded(recorder, both);
  feed.play(45);
  await feed.session.end();
  await recorder.end();
  const original = await allOf((await here.open(studio.path))!);
  await uploader.idle();
  server.requests.length = 0;
  const stored = (await elsewhere.open(studio.path))!;
  assert.deepEqual(
    server.requests.map(({ name }) => name.split('/')[1]),
    ['manifest.json', 'index', 'index'],
    'opening takes three requests',
  );
  assert.deepEqual(await allOf(stored), original);
  assert.deepEqual([stored.isRunning, stored.extent.durationS > 44], [false, true]);

  // Gone from here, it is read from the bucket by a library that had it open.
  const opened = (await here.open(studio.path))!;
  uploader.makeRoom();
  assert.deepEqual(await allOf(opened), original);
  rmSync(join(studio.folder, studio.path), { recursive: true });
  mkdirSync(join(studio.folder, studio.path));
  assert.deepEqual(await allOf(opened), original);
});

test('many viewers of the same part of a replay cost the bucket one request', async () => {
  await using parts = new AsyncDisposableStack();
  const { server, studio, uploader, elsewhere } = await worldOf(parts);
  const recorder = studio.begin();
  const { feed } = recorded(recorder, both);
  feed.play(12);
  await feed.session.end();
  await recorder.end();
  await uploader.idle();
  const recording = (await elsewhere.open(studio.path))!;
  server.requests.length = 0;
  const segment = (await recording.media('source', '1.m4s', {}))!;
  const read = await Promise.all(Array.from({ length: 50 }, () => bytesOf(segment)));
  assert.ok(read.every((bytes) => bytes.equals(read[0]!)));
  assert.equal(server.requests.filter(({ method }) => method === 'GET').length, 1);
});

test('when the machine is gone for good, all but the last minute plays elsewhere, and the rest once its disk is back', async () => {
  await using parts = new AsyncDisposableStack();
  const { time, server, studio, uploader, elsewhere } = await worldOf(parts);
  const recorder = studio.begin();
  const { feed } = recorded(recorder, both);
  // Volumes of ten seconds.
  feed.play(35);
  await studio.idle();
  await uploader.idle();
  const away = `${studio.folder}-away`;
  renameSync(studio.folder, away);
  const early = (await elsewhere.open(studio.path))!;
  const { durationS } = early.extent;
  assert.ok(durationS >= 20 && durationS <= 35, `${durationS} s`);
  for (const { msn } of readMediaPlaylist(early.playlist('source', {}, { skip: false })!.text).segments) {
    await bytesOf((await early.media('source', `${msn}.m4s`, {}))!);
  }
  const isEnded = (hasEnded: boolean) => {
    const playlist = readMediaPlaylist(early.playlist('source', {}, { skip: false, hasEnded })!.text);
    return [playlist.ended, playlist.segments.length];
  };
  const { length } = readMediaPlaylist(early.playlist('source', {}, { skip: false })!.text).segments;
  assert.deepEqual(
    [isEnded(false), isEnded(true)],
    [
      [false, length],
      [true, length],
    ],
    'players need not wait for more',
  );
  renameSync(away, studio.folder);
  await feed.session.end();
  await recorder.end();
  await uploader.idle();
  server.requests.length = 0;
  assert.equal((await elsewhere.open(studio.path))!.extent.durationS, durationS);
  assert.equal(server.requests.length, 0, 'the bucket is not asked for every request of a player');
  await time.advance(30_000, async () => {});
  const whole = (await elsewhere.open(studio.path))!;
  assert.deepEqual([whole.isRunning, whole.extent.durationS > 34], [false, true]);
});

test('a recording that is known to be in the bucket as a whole is not shown as it was before', async () => {
  await using parts = new AsyncDisposableStack();
  const { studio, uploader, elsewhere } = await worldOf(parts);
  const recorder = studio.begin();
  const { feed } = recorded(recorder, both);
  feed.play(15);
  await studio.idle();
  await uploader.idle();
  const early = (await elsewhere.open(studio.path))!;
  await feed.session.end();
  await recorder.end();
  await uploader.idle();
  const whole = (await elsewhere.open(studio.path, true))!;
  assert.ok(whole.extent.durationS > early.extent.durationS);
  assert.equal(await elsewhere.open(studio.path, true), whole);
});

test('a bucket that is away makes a recording unavailable, and not missing', async () => {
  await using parts = new AsyncDisposableStack();
  const { server, studio, elsewhere } = await worldOf(parts);
  assert.equal(await elsewhere.open(studio.path), undefined);
  server.faultOf = () => ({ type: 'refused', status: 503, code: 'SlowDown' });
  await assert.rejects(elsewhere.open(studio.path), { code: 'recording_unavailable' });
});

test('with a public URL, a stock parser finds every segment as a byte range of a volume in the bucket', async () => {
  await using parts = new AsyncDisposableStack();
  const { server, studio, uploader, elsewhere } = await worldOf(parts);
  const recorder = studio.begin();
  const { feed } = recorded(recorder, both);
  feed.play(25);
  await feed.session.end();
  const { fromMs } = await recorder.end();
  await uploader.idle();
  const recording = (await elsewhere.open(studio.path))!;
  const mediaUrl = `https://cdn.example.com/kept/${studio.path}`;
  const inBucket = (url: string, { length, offset }: { length: number; offset: number }) => {
    assert.ok(url.startsWith(`${mediaUrl}/`), url);
    return server.objects.get(url.slice('https://cdn.example.com/kept/'.length))!.subarray(offset, offset + length);
  };
  for (const excerpt of [{}, { fromMs: (fromMs! + 12_000) as never }]) {
    for (const id of ['source', 'audio']) {
      const playlist = recording.playlist(id, excerpt, { skip: false })!;
      const own = readMediaPlaylist(playlist.text).segments;
      const made = await recording.publicPlaylist(id, playlist, mediaUrl);
      assert.equal(await recording.publicPlaylist(id, playlist, mediaUrl), made, 'made once');
      const { text } = made;
      const parsed = HLS.parse(text) as HLS.types.MediaPlaylist;
      assert.equal(parsed.segments.length, own.length);
      for (const [index, segment] of parsed.segments.entries()) {
        const expected = await bytesOf((await recording.media(id, `${own[index]!.msn}.m4s`, excerpt))!);
        assert.deepEqual(inBucket(segment.uri, segment.byterange!), expected);
        const map = inBucket(segment.map!.uri!, segment.map!.byterange!);
        assert.deepEqual(map, await bytesOf((await recording.media(id, 'init-0.mp4', excerpt))!));
      }
    }
  }
});

test('a playlist of a recording that runs never names the bucket', async () => {
  await using parts = new AsyncDisposableStack();
  const { studio, here } = await worldOf(parts);
  const recorder = studio.begin();
  const { feed } = recorded(recorder, both);
  feed.play(25);
  await studio.idle();
  const recording = (await here.open(studio.path))!;
  const own = recording.playlist('source', {}, { skip: false })!;
  const { text } = await recording.publicPlaylist('source', own, 'https://cdn.example.com');
  assert.ok(text.includes('.m4s') && !text.includes('cdn'));
  await feed.session.end();
  await recorder.end();
});
