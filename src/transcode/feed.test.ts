import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Packet } from '#media/packet.ts';
import type { PacketEvent } from '#media/session-event.ts';
import { asEvent, markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { Feed } from './feed.ts';

/** A packet per second, with keyframes as given. */
const at = (second: number, keyframe = false, changes: Partial<Packet> = {}): PacketEvent =>
  asEvent({ ...packetAt(VIDEO_TRACK, second * 1000, { keyframe }), ...changes });

function all(feed: Feed): { second: number; afterGap: boolean }[] {
  const taken = [];
  for (let fed = feed.next({ all: true }); fed !== undefined; fed = feed.next({ all: true })) {
    const { pts } = fed.event.type === 'packet' ? fed.event.packet : fed.event;
    taken.push({ second: pts / 90_000, afterGap: fed.afterGap });
  }
  return taken;
}

it('begins at a keyframe', () => {
  const feed = new Feed();
  feed.open();
  for (const packet of [at(0), at(1), at(2, true), at(3)]) feed.offer(packet, 0);
  assert.deepEqual(all(feed), [
    { second: 2, afterGap: false },
    { second: 3, afterGap: false },
  ]);
  assert.equal(feed.dropped, 2);
});

it('sends a worker at most eight packets that it has not processed', () => {
  const feed = new Feed();
  feed.open();
  for (let second = 0; second < 20; second += 1) feed.offer(at(second, second === 0), second);
  let taken = 0;
  while (feed.next() !== undefined) taken += 1;
  assert.equal(taken, 8);
  assert.equal(feed.done(3), true);
  while (feed.next() !== undefined) taken += 1;
  assert.equal(taken, 11);
  assert.equal(feed.lagMs(20), 17, 'the oldest unprocessed packet was sent at 3 ms');
  assert.equal(feed.done(9), false, 'more packets than it was given');
});

it('keeps only the newest two segments while there is no worker', () => {
  const feed = new Feed();
  const begins = (second: number) => at(second, true, { mark: markAt(second) });
  const first = [begins(0), at(1), begins(2)];
  for (const packet of first) feed.offer(packet, 0);
  assert.equal(feed.dropped, 0);
  for (const packet of [at(3), at(4, true), at(5), begins(6), at(7)]) feed.offer(packet, 0);
  feed.open();
  assert.deepEqual(
    all(feed).map(({ second, afterGap }) => [second, afterGap]),
    [
      [2, true],
      [3, false],
      [4, false],
      [5, false],
      [6, false],
      [7, false],
    ],
  );
});

it('starts the next worker at the newest keyframe that waits, without a gap', () => {
  const feed = new Feed();
  feed.open();
  for (let second = 0; second < 12; second += 1) feed.offer(at(second, second % 5 === 0), 0);
  while (feed.next() !== undefined);
  feed.close();
  assert.equal(feed.next(), undefined);
  feed.open();
  assert.deepEqual(
    all(feed).map(({ second, afterGap }) => [second, afterGap]),
    [
      [10, false],
      [11, false],
    ],
  );
  assert.equal(feed.dropped, 10);
});

it('skips to the newest keyframe, and reports a gap', () => {
  const feed = new Feed();
  feed.open();
  for (let second = 0; second < 12; second += 1) feed.offer(at(second, second % 5 === 0), 0);
  feed.skip();
  assert.deepEqual(all(feed)[0], { second: 10, afterGap: true });
  for (let second = 12; second < 16; second += 1) feed.offer(at(second, second === 15), 0);
  feed.skip();
  feed.skip();
  assert.deepEqual(all(feed), [], 'the only keyframe comes first, so another one is waited for');
  for (const packet of [at(16), at(17, true)]) feed.offer(packet, 0);
  assert.deepEqual(all(feed), [{ second: 17, afterGap: true }]);
});

it('bounds the waiting packets by bytes and by number', () => {
  const feed = new Feed();
  feed.open();
  const megabyte = new Uint8Array(1024 * 1024);
  for (let second = 0; second < 500; second += 1) {
    feed.offer(at(second, second % 50 === 0, { data: megabyte }), 0);
    assert.ok(feed.waitingBytes <= 32 * megabyte.length);
  }
  const tiny = new Feed();
  tiny.open();
  for (let second = 0; second < 5000; second += 1) tiny.offer(at(second, second === 0), 0);
  assert.ok(tiny.waitingBytes <= 1200 * 100);
  assert.ok(tiny.dropped >= 3800);
});

it('drops the waiting packets of an earlier track', () => {
  const feed = new Feed();
  for (const packet of [at(0, true), at(1)]) feed.offer(packet, 0);
  feed.reset();
  feed.open();
  feed.offer(at(2), 0);
  feed.offer(at(3, true), 0);
  assert.deepEqual(all(feed), [{ second: 3, afterGap: false }]);
});
