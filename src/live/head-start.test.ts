import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Packet } from '#media/packet.ts';
import { asEvent, markAt, OPUS_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { HeadStart } from './head-start.ts';

const frame = (at: number, change: Partial<Packet> = {}): Packet => ({
  ...packetAt(VIDEO_TRACK, at),
  ...change,
  keyframe: change.keyframe ?? false,
});
const begins = (at: number): Packet => frame(at, { keyframe: true, mark: markAt(0) });

function setUp() {
  const kept = new HeadStart();
  const add = (packet: Packet, nowMs = 0) =>
    kept.add(asEvent(packet), 'video', packet.kind === 'video' ? VIDEO_TRACK.timescale : OPUS_TRACK.timescale, nowMs);
  const take = () => kept.take().flatMap((event) => (event.type === 'packet' ? [event.packet] : []));
  return { kept, add, take };
}

test('video begins with a keyframe; audio is kept from its first packet', () => {
  const { add, take } = setUp();
  for (const packet of [frame(0), packetAt(OPUS_TRACK, 20), begins(40), frame(80)]) add(packet);
  assert.deepEqual(
    take().map(({ kind, keyframe }) => [kind, keyframe]),
    [
      ['audio', true],
      ['video', true],
      ['video', false],
    ],
  );
  assert.deepEqual(take(), []);
});

test('media has lasted for the shorter of its own timestamps and the clock', () => {
  const { kept, add } = setUp();
  add(begins(0), 0);
  add(frame(60_000), 300);
  assert.equal(kept.lastedMs(300), 300, 'minutes of media that were sent at once do not count');
  const slow = setUp();
  slow.add(begins(0), 0);
  slow.add(frame(40), 60_000);
  assert.equal(slow.kept.lastedMs(60_000), 40, 'timestamps that hardly advance count');
  slow.kept.clear();
  assert.equal(slow.kept.lastedMs(60_000), 40);
  slow.kept.restart();
  assert.equal(slow.kept.lastedMs(60_000), 0);
});

test('video that is more than three seconds old is dropped where a segment begins, and audio is not', () => {
  const { add, take } = setUp();
  for (let at = 0; at <= 4000; at += 500) {
    add(at % 2000 === 0 ? begins(at) : frame(at));
    add(packetAt(OPUS_TRACK, at));
  }
  const packets = take();
  assert.deepEqual(
    packets.flatMap(({ kind, pts }) => (kind === 'video' ? [pts / 90] : [])),
    [4000],
  );
  assert.equal(packets.filter(({ kind }) => kind === 'audio').length, 9);
});

test('the kept packets are bounded by bytes and by number', () => {
  const { add, take } = setUp();
  const megabyte = new Uint8Array(1024 * 1024);
  for (let at = 0; at < 100; at += 1) add({ ...begins(at), data: megabyte });
  const bytes = take().reduce((sum, { data }) => sum + data.length, 0);
  assert.ok(bytes > 0 && bytes <= 16 * megabyte.length, `${bytes} bytes`);
  add(begins(0));
  for (let at = 1; at < 5000; at += 1) add(frame(at));
  assert.ok(take().length <= 1000);
});
