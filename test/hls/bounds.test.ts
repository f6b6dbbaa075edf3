/**
 * Bounds on the work that one publisher can cause in a presentation, whatever its timestamps are.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { PartBuilder } from '#hls/part-builder.ts';
import { ticks } from '#lib/units.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import { audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { asEvent, markAt, packetAt } from '../support/tracks.ts';

test('a gap of any length is filled only up to the longest duration of its segment', async () => {
  const feed = new Feed({ video: videoTrack(), audio: audioTrack() });
  feed.play(10);
  const { memory } = feed.options;
  const lastMsn = async () => readMediaPlaylist((await feed.text('source')) ?? '').segments.at(-1)?.msn;
  const before = { usedBytes: memory.usedBytes, lastMsn: await lastMsn() };
  for (const id of feed.renditions) {
    feed.presentation.write(id, { type: 'gap', fromS: 10, untilS: 1e9, why: 'lost' });
  }
  assert.equal(await lastMsn(), before.lastMsn);
  assert.ok(memory.usedBytes - before.usedBytes < 10_000);
});

test('a disposed presentation keeps no media, although its session is remembered for some seconds more', async () => {
  const feed = new Feed({ video: videoTrack(), audio: audioTrack() });
  const { presentation, options } = feed;
  presentation.write('source', { type: 'track', track: videoTrack() });
  const data = new WeakRef(new Uint8Array(100_000));
  const keyframe = packetAt(videoTrack(), 0, { keyframe: true });
  presentation.write('source', asEvent({ ...keyframe, mark: markAt(0), data: data.deref()! }));
  presentation[Symbol.dispose]();
  assert.equal(options.memory.usedBytes, 0);
  // A weak reference holds its target until the present turn of the event loop is over.
  await setImmediate();
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  assert.ok(data.deref() === undefined);
  // The presentation itself is still held.
  assert.equal((await presentation.media('source', 'x', { signal: AbortSignal.abort() })).type, 'not_found');
});

test('a part ends after five hundred frames or eight megabytes, however short their stated durations are', () => {
  const parts: (readonly FragmentSample[])[] = [];
  const builder = new PartBuilder(videoTrack(), (samples) => parts.push(samples));
  const push = (index: number, sizeBytes: number) =>
    builder.push({
      dts: ticks(index),
      pts: ticks(index),
      durationTicks: 1,
      keyframe: false,
      isFilling: false,
      data: new Uint8Array(sizeBytes),
    });
  for (let index = 0; index < 2000; index++) push(index, 10);
  assert.deepEqual(
    parts.map(({ length }) => length),
    [500, 500, 500, 500],
  );
  for (let index = 2000; index < 2009; index++) push(index, 1024 * 1024);
  assert.equal(parts.at(-1)?.length, 8);
});
