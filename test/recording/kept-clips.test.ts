/**
 * Tests that clips outlive their recording: what their viewers can ask for is kept when the recording is deleted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MediaPath } from '#domain/ids.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { RecordingLibrary } from '#recording/library.ts';
import { LocalFileReader } from '#recording/reader/reader.ts';
import type { ByteSource, MovieViewer } from '#recording/recording.ts';
import { RecordingIndex } from '#recording/recording-index.ts';
import { unneededVolumes } from '#recording/storage/unneeded-volumes.ts';
import { audioTrack, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { recorded, Studio } from '../support/recording-studio.ts';

const VIEWER: MovieViewer = { address: 'somewhere', inTurn: (work) => work() };

/** Reads the files of a folder, and remembers which ones. */
class WatchedReader extends LocalFileReader {
  readonly names = new Set<string>();

  override read(path: MediaPath, name: string, from: number, until: number): Promise<Uint8Array> {
    this.names.add(name);
    return super.read(path, name, from, until);
  }
}

async function readAll(source: ByteSource): Promise<void> {
  for await (const _ of source.read(0, source.sizeBytes, new AbortController().signal));
}

test('a deleted recording keeps everything that a clip shows, also where most segments begin without a keyframe', async () => {
  await using parts = new AsyncDisposableStack();
  const studio = parts.use(new Studio({ volumeS: 20 }));
  const recorder = studio.begin();
  // A keyframe every 16 s, and segments of 4 s.
  const { feed } = recorded(recorder, { gop: 480, video: videoTrack(), audio: audioTrack() });
  feed.play(120);
  await feed.session.end();
  const fromMs = (await recorder.end()).fromMs!;
  const reader = parts.use(new WatchedReader({ folder: studio.folder }));
  const found = (await reader.index(studio.path))!;
  const index = new RecordingIndex(found.index);
  const { segments } = index.rendition('source')!;
  const independent = Array.from({ length: segments.count }, (_, at) => segments.at(at)!.independent);
  assert.ok(independent.filter((isSo) => !isSo).length > segments.count / 2);
  const library = new RecordingLibrary({ reader, recorders: studio.recorders, makeStill: async () => undefined });
  const recording = (await library.open(studio.path))!;
  const at = (seconds: number): Milliseconds => ms(fromMs + seconds * 1000);
  let freed = 0;
  for (let fromS = 0.5; fromS < 110; fromS += 1) {
    const clip = { fromMs: at(fromS), untilMs: at(fromS + 3) };
    reader.names.clear();
    for (const id of ['source', 'audio']) {
      const listed = readMediaPlaylist(recording.playlist(id, clip, { skip: false })!.text).segments;
      for (const { msn } of listed) await readAll((await recording.media(id, `${msn}.m4s`, clip))!);
      await readAll((await recording.mp4(id, clip, VIEWER))!);
    }
    await recording.picture(clip);
    const unneeded = unneededVolumes(index, [clip]);
    assert.deepEqual([...unneeded.intersection(reader.names)], [], `a clip from ${fromS} s on`);
    freed += unneeded.size;
  }
  assert.ok(freed > 0);
});
