import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { MediaPath } from '#domain/ids.ts';
import { ms, ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import { readFragment } from '#media/mp4/fragment-reader.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { sampleDefaults } from '#media/mp4/sample-defaults.ts';
import type { Track } from '#media/track.ts';
import { CONFIGS } from '#test/fuzz/recorded.ts';
import { readMovie } from '#test/support/iso-bmff.ts';
import { wholeFragment } from '#test/support/whole-fragment.ts';
import { encodeRecord, indexName, volumeName } from './index-file.ts';
import type { IndexRecord, TrackDescription } from './index-record.ts';
import { LocalFileReader } from './reader/reader.ts';
import type { MovieViewer, VirtualFile } from './recording.ts';
import { type RecordingIndex, readIndex } from './recording-index.ts';
import { SentHeads } from './sent-heads.ts';
import { type MovieSource, movieEnd, VirtualMp4s } from './virtual-mp4.ts';

const PATH = 'k3v9k3v9k3v9k3v9' as MediaPath;
const EPOCH = ms(1_790_000_000_000);
const SEGMENTS = 8;
const PARTS = 4;

const VIDEO = codecOf('h264').parseConfig(CONFIGS.h264[0]!);
const AUDIO = codecOf('aac').parseConfig(CONFIGS.aac[0]!);
const AUDIO_TICKS = AUDIO.timescale / 50;

/** The order in which the frames of an open GOP are shown: two frames before the keyframe, which comes first. */
const OPEN_GOP = [2, 0, 1];

/**
 * Writes a rendition whose segments take two seconds, and gives the records of its index. Two segments are in a volume.
 * @param order for the first samples of each segment, the place at which each is shown
 */
function record(rendition: number, id: string, track: Track, durationTicks: number, order: readonly number[] = []) {
  const volumes: Buffer[] = [];
  const records: IndexRecord[] = [
    { type: 'init', rendition, id, number: 0, track: describeTrack(track), bytes: initSegment(track) },
  ];
  const perPart = (2 * track.timescale) / durationTicks / PARTS;
  for (let number = 0; number < SEGMENTS; number++) {
    const startTicks = number * 2 * track.timescale;
    if (number % 2 === 0) volumes.push(Buffer.from(initSegment(track)));
    const volume = volumes.length - 1;
    records.push({
      type: 'segment',
      rendition,
      number,
      volume,
      offset: volumes[volume]!.length,
      init: 0,
      startTicks,
      programDateTimeMs: EPOCH + number * 2000,
      discontinuity: false,
      independent: true,
    });
    for (let part = 0; part < PARTS; part++) {
      const samples = Array.from({ length: perPart }, (_, index): FragmentSample => {
        const place = part * perPart + index;
        const dts = ticks(startTicks + place * durationTicks);
        const pts = ticks(startTicks + (order[place] ?? place) * durationTicks);
        const data = Buffer.alloc(100 + ((dts / durationTicks) % 50), dts / durationTicks);
        const keyframe = track.kind === 'audio' || (part === 0 && index === 0);
        return { dts, pts, durationTicks, keyframe, data };
      });
      const bytes = wholeFragment(track, number * PARTS + part, samples);
      const { moofBytes, ...columns } = readFragment(bytes, sampleDefaults(track));
      volumes[volume] = Buffer.concat([volumes[volume]!, bytes]);
      const offsetTicks = part * perPart * durationTicks;
      records.push({
        type: 'part',
        rendition,
        sizeBytes: bytes.length,
        moofBytes,
        crc32: 0,
        offsetTicks,
        samples: columns,
      });
    }
    records.push({ type: 'segment_end', rendition, durationTicks: 2 * track.timescale });
  }
  return { volumes, records };
}

function describeTrack(track: Track): TrackDescription {
  const common = { codec: track.codec, rfc6381: track.codecString, timescale: track.timescale };
  if (track.kind === 'audio') {
    return { ...common, kind: 'audio', channels: track.channels, sampleRate: track.sampleRate };
  }
  const { width, height, declaredFrameRate, videoRange } = track;
  return { ...common, kind: 'video', width, height, declaredFrameRate, videoRange };
}

const VIEWER: MovieViewer = { address: '192.0.2.1', inTurn: (work) => work() };

async function bytesOf(file: VirtualFile, from = 0, until = file.sizeBytes): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.read(from, until, new AbortController().signal)) {
    assert.ok(piece.length > 0 && piece.length <= 256 * 1024);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The first piece of a file. */
async function firstOf(file: VirtualFile): Promise<Uint8Array> {
  for await (const piece of file.read(0, file.sizeBytes, new AbortController().signal)) return piece;
  return assert.fail('the file is empty');
}

describe('a virtual MP4', () => {
  let reader: LocalFileReader;
  let source: MovieSource;
  let index: RecordingIndex;
  let made = 0;
  const held = new AsyncDisposableStack();

  before(async () => {
    const folder = held.use(await mkdtempDisposable(join(tmpdir(), 'millrace-recording-')));
    await mkdir(join(folder.path, PATH));
    const video = record(0, 'source', VIDEO, 3000);
    const audio = record(1, 'audio', AUDIO, AUDIO_TICKS);
    const openGop = record(2, 'open-gop', VIDEO, 3000, OPEN_GOP);
    for (const [id, { volumes }] of [
      ['source', video],
      ['audio', audio],
      ['open-gop', openGop],
    ] as const) {
      for (const [volume, bytes] of volumes.entries()) {
        await writeFile(join(folder.path, PATH, volumeName(id, volume)), bytes);
      }
    }
    const records = [...video.records, ...audio.records, ...openGop.records, { type: 'end' } as const];
    const file = Buffer.concat(records.map((each) => encodeRecord(each)));
    await writeFile(join(folder.path, PATH, indexName(0)), file);
    index = readIndex([file]);
    reader = held.use(new LocalFileReader({ folder: folder.path }));
    source = {
      path: PATH,
      epoch: EPOCH,
      index,
      reader: {
        read: (path, name, from, until) => reader.read(path, name, from, until),
        movie: (path, request) => {
          made += 1;
          return reader.movie(path, request);
        },
      },
    };
  });
  after(() => held.disposeAsync());

  const open = async (mp4s: VirtualMp4s, from?: number, until?: number, rendition = 'source') => {
    const at = (s: number | undefined) => (s === undefined ? undefined : ms(EPOCH + s * 1000));
    return await mp4s.open(source, rendition, { fromMs: at(from), untilMs: at(until) }, VIEWER);
  };

  it('has every sample of the video and the audio', async () => {
    const file = await open(new VirtualMp4s());
    const bytes = await bytesOf(file!);
    assert.equal(bytes.length, file!.sizeBytes);
    const [video, audio] = readMovie(bytes);
    assert.deepEqual([video!.shownS, audio!.shownS], [16, 16]);
    assert.equal(video!.samples.length, 16 * 30);
    for (const { samples } of [video!, audio!]) {
      for (const [number, { data }] of samples.entries()) {
        assert.deepEqual(Buffer.from(data), Buffer.alloc(100 + (number % 50), number));
      }
    }
  });

  it('has the same bytes for eight readers that read ranges of it at once, in any pieces', async () => {
    const mp4s = new VirtualMp4s();
    const whole = await bytesOf((await open(mp4s))!);
    const sha256 = createHash('sha256').update(whole).digest('hex');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(whole.length), { minLength: 0, maxLength: 20 }), async (cuts) => {
        const bounds = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
        const file = (await open(mp4s))!;
        const readers = Array.from({ length: 8 }, async () => {
          const pieces = await Promise.all(bounds.slice(1).map((until, at) => bytesOf(file, bounds[at]!, until)));
          return createHash('sha256').update(Buffer.concat(pieces)).digest('hex');
        });
        for (const read of await Promise.all(readers)) assert.equal(read, sha256);
      }),
      { numRuns: 10 },
    );
  });

  it('has the tag of its bytes: the same for the same excerpt, and another one for any other', async () => {
    const tags = new Set<string>();
    for (const [from, until] of [
      [0, 16],
      [1, 3],
      [1, 3.1],
      [1.1, 3],
    ] as const) {
      const file = (await open(new VirtualMp4s(), from, until))!;
      assert.equal((await open(new VirtualMp4s(), from, until))!.etag, file.etag);
      tags.add(file.etag);
    }
    assert.equal(tags.size, 4);
    assert.equal((await open(new VirtualMp4s()))!.etag, (await open(new VirtualMp4s(), 0, 16))!.etag);
  });

  it('is cut at frames, and has no more segments than it needs', async () => {
    const file = (await open(new VirtualMp4s(), 4.5, 5))!;
    const [video, audio] = readMovie(await bytesOf(file));
    assert.deepEqual([video!.shownS, audio!.shownS], [0.5, 0.5]);
    assert.equal(video!.edits[0]!.mediaTime, 45_000);
    assert.equal(video!.samples.length, 30);
    assert.ok(file.sizeBytes < 12_000, `${file.sizeBytes} bytes`);
  });

  it('that begins with a segment has the keyframe before it when frames are shown before the keyframe of that segment', async () => {
    const [video] = readMovie(await bytesOf((await open(new VirtualMp4s(), 4, 5, 'open-gop'))!));
    assert.equal(video!.shownS, 1);
    assert.equal(video!.samples[0]!.data[0], 60, 'the keyframe at two seconds');
  });

  it('that begins with a segment has the audio before it that the decoder needs', async () => {
    const [video, audio] = readMovie(await bytesOf((await open(new VirtualMp4s(), 4, 5))!));
    assert.equal(video!.edits[0]!.mediaTime, 0);
    assert.equal(audio!.edits[0]!.mediaTime, 0.08 * AUDIO.timescale);
    assert.deepEqual(
      audio!.samples.slice(0, 4).map(({ data }) => data[0]),
      [196, 197, 198, 199],
    );
  });

  it('of audio alone has no video', async () => {
    const [audio, ...others] = readMovie(await bytesOf((await open(new VirtualMp4s(), 1, 2, 'audio'))!));
    assert.equal(audio!.kind, 'soun');
    assert.equal(audio!.shownS, 1);
    assert.deepEqual(others, []);
  });

  it('does not exist without its rendition, or without a frame in the excerpt', async () => {
    assert.equal(await open(new VirtualMp4s(), 0, 1, '720p'), undefined);
    assert.equal(await open(new VirtualMp4s(), 16, 20), undefined);
    assert.equal(await open(new VirtualMp4s(), 3, 3), undefined);
    assert.equal(await open(new VirtualMp4s(), 5, 3), undefined);
    assert.equal(await open(new VirtualMp4s(), -9, -1), undefined);
  });

  it('is made once for all who ask while it is made and afterwards, and again when its head was forgotten', async () => {
    const mp4s = new VirtualMp4s();
    made = 0;
    const files = await Promise.all(Array.from({ length: 10 }, () => open(mp4s)));
    await bytesOf((await open(mp4s))!);
    assert.equal(made, 1);
    assert.equal(new Set(files.map((file) => file!.etag)).size, 1);

    const forgetful = new VirtualMp4s(2048);
    made = 0;
    const file = (await open(forgetful))!;
    const { sizeBytes } = file;
    await bytesOf(file, sizeBytes - 1000);
    assert.equal(made, 1);
    await bytesOf(file, 0, 10);
    assert.equal(made, 2);
  });

  it('takes memory for its head only while that is sent, and loses it to another viewer when there is too little', async () => {
    const sizes: number[] = [];
    const heads = { send: (head: Uint8Array) => ({ [Symbol.dispose]: () => void sizes.push(head.length) }) };
    await bytesOf((await open(new VirtualMp4s(1, heads as never), 1, 2))!, 0, 1);
    const sent = new SentHeads(2 * sizes[0]! + 1000);
    const mp4s = new VirtualMp4s(1, sent);
    const begin = async (from: number, address: string) => {
      const viewer = { ...VIEWER, address };
      const span = { fromMs: ms(EPOCH + from * 1000), untilMs: ms(EPOCH + from * 1000 + 1000) };
      const file = (await mp4s.open(source, 'source', span, viewer))!;
      const pieces = file.read(0, file.sizeBytes, new AbortController().signal)[Symbol.asyncIterator]();
      return { file, pieces, first: (await pieces.next()).value as Uint8Array };
    };
    const slow = [await begin(1, '192.0.2.1'), await begin(3, '192.0.2.1')];
    assert.ok(sent.bytes >= 2 * slow[0]!.first.length);
    const other = await begin(7, '198.51.100.1');
    assert.equal(slow.filter(({ file }) => file.lost.aborted).length, 1);
    for (const { pieces } of [...slow, other]) await pieces.return?.();
    assert.equal(sent.bytes, 0);
  });

  it('is sent in pieces that keep no more than themselves in memory', async () => {
    const file = (await open(new VirtualMp4s()))!;
    const [piece, same] = [await firstOf(file), await firstOf(file)];
    assert.deepEqual(piece, same);
    assert.notEqual(piece.buffer, same.buffer);
  });

  it('is made when it is the turn of its viewer, and needs no turn while it is kept', async () => {
    const mp4s = new VirtualMp4s();
    let turns = 0;
    const inTurn: MovieViewer['inTurn'] = (work) => {
      turns += 1;
      return work();
    };
    for (let viewer = 0; viewer < 3; viewer++) {
      await bytesOf((await mp4s.open(source, 'source', {}, { ...VIEWER, inTurn }))!);
    }
    assert.equal(turns, 1);
    const forgetful = new VirtualMp4s(1);
    await bytesOf((await forgetful.open(source, 'source', {}, { ...VIEWER, inTurn }))!);
    assert.equal(turns, 2, 'the head that was just made is sent, although it is too large to be kept');
    await bytesOf((await forgetful.open(source, 'source', {}, { ...VIEWER, inTurn }))!);
    assert.equal(turns, 3, 'only the map is kept');
  });

  it('of a recording that runs ends where nothing will be added any more, and has the same bytes later', async () => {
    const running = readIndex([]);
    Object.assign(running, { renditions: index.renditions.slice() });
    const [, audio] = running.renditions;
    audio!.data.isOpen = true;
    try {
      const untilMs = movieEnd(running, 'source')!;
      assert.equal(untilMs, EPOCH + 15_500);
      const mp4s = new VirtualMp4s();
      const [now, bounded] = [{}, { untilMs }].map((excerpt) =>
        mp4s.open({ ...source, index: running }, 'source', excerpt, VIEWER),
      );
      const [video] = readMovie(await bytesOf((await now)!));
      assert.equal(video!.shownS, 15.5);
      const later = await new VirtualMp4s().open(source, 'source', { untilMs }, VIEWER);
      assert.equal((await bounded)!.etag, later!.etag);
      assert.equal((await now)!.etag, later!.etag);
    } finally {
      audio!.data.isOpen = false;
    }
    assert.equal(movieEnd(readIndex([]), 'source'), undefined);
    assert.equal(movieEnd(index, 'source'), EPOCH + 16_000);
  });

  it('is not read on once the reader has gone, or the file is damaged', async () => {
    const file = (await open(new VirtualMp4s()))!;
    const gone = new AbortController();
    const pieces = file.read(0, file.sizeBytes, gone.signal)[Symbol.asyncIterator]();
    await pieces.next();
    gone.abort();
    await assert.rejects(
      async () => {
        for (;;) if ((await pieces.next()).done === true) return;
      },
      { name: 'AbortError' },
    );
    for (const name of [volumeName('source', 0), volumeName('source', 99)]) {
      await assert.rejects(reader.read(PATH, name, 0, 1_000_000), { code: 'recording_unavailable' });
    }
  });
});
