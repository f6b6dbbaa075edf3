import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RenditionId, SessionEvent, SessionOutput } from '#media/session-event.ts';
import { AUDIO_TRACK, asEvent, markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { Distributor } from './distributor.ts';

/** An output that records everything. */
class Collector implements SessionOutput {
  readonly isRequired = false;
  closed = 0;
  readonly events: (readonly [RenditionId, SessionEvent])[] = [];

  write(id: RenditionId, event: SessionEvent): void {
    assert.equal(this.closed, 0, 'written to after its end');
    this.events.push([id, event]);
  }

  close(): void {
    this.closed += 1;
  }

  /** The tracks by rendition, and the packets by rendition and second. */
  get seen(): readonly string[] {
    return this.events.map(([id, event]) => {
      if (event.type !== 'packet') return `${id} ${event.type}`;
      return `${id} ${event.packet.dts / (event.packet.kind === 'video' ? 90_000 : 48_000)}`;
    });
  }
}

/** An output with a queue of three packets that the test empties. When the queue is full, it drops up to the next keyframe. */
class Slow implements SessionOutput {
  readonly isRequired = false;
  readonly sent: number[] = [];
  dropped = 0;
  #queue: SessionEvent[] = [];
  #needsKeyframe = false;

  write(_: RenditionId, event: SessionEvent): void {
    if (event.type !== 'packet') return;
    this.#needsKeyframe &&= !event.packet.keyframe;
    if (this.#queue.length === 3) {
      this.dropped += this.#queue.splice(0).length;
      this.#needsKeyframe = !event.packet.keyframe;
    }
    if (this.#needsKeyframe) this.dropped += 1;
    else this.#queue.push(event);
  }

  drain(): void {
    for (const event of this.#queue.splice(0)) if (event.type === 'packet') this.sent.push(event.packet.dts / 90_000);
  }
}

function setUp() {
  const failures: unknown[] = [];
  const distributor = new Distributor((_, error) => void failures.push(error));
  /** A packet per second, with a keyframe every four. */
  const play = (fromS: number, untilS: number) => {
    for (let at = fromS; at < untilS; at += 1) {
      const keyframe = at % 4 === 0;
      const mark = keyframe ? { mark: markAt(at / 4) } : {};
      distributor.write('source', asEvent({ ...packetAt(VIDEO_TRACK, at * 1000, { keyframe }), ...mark }));
      distributor.write('audio', asEvent({ ...packetAt(AUDIO_TRACK, at * 1000), ...mark }));
    }
  };
  distributor.write('source', { type: 'track', track: VIDEO_TRACK });
  distributor.write('audio', { type: 'track', track: AUDIO_TRACK });
  return { distributor, failures, play };
}

test('an output that is attached late gets the tracks, begins at the newest keyframe, and then gets everything that follows', () => {
  const { distributor, play } = setUp();
  play(0, 7);
  const late = new Collector();
  distributor.attach(late);
  play(7, 8);
  assert.deepEqual(late.seen, [
    'source track',
    'source 4',
    'source 5',
    'source 6',
    'audio track',
    'audio 4',
    'audio 5',
    'audio 6',
    'source 7',
    'audio 7',
  ]);
});

test('an output that is attached after a change of the configuration begins with the new one, at its first keyframe', () => {
  const { distributor, play } = setUp();
  play(0, 6);
  const other = { ...VIDEO_TRACK, width: 640 };
  distributor.write('source', { type: 'track', track: other });
  const late = new Collector();
  distributor.attach(late);
  play(6, 10);
  assert.deepEqual(
    late.seen.filter((each) => each.startsWith('source')),
    ['source track', 'source 8', 'source 9'],
  );
  assert.deepEqual(late.events[0]?.[1], { type: 'track', track: other });
});

test('more than four megabytes since the newest keyframe are not kept, so that a late output begins at the next one', () => {
  const { distributor } = setUp();
  const send = (second: number, keyframe: boolean) =>
    distributor.write(
      'source',
      asEvent({ ...packetAt(VIDEO_TRACK, second * 1000, { keyframe }), data: new Uint8Array(1024 * 1024) }),
    );
  for (let second = 0; second < 6; second += 1) send(second, second === 0);
  const late = new Collector();
  distributor.attach(late);
  send(6, false);
  send(7, true);
  assert.deepEqual(
    late.seen.filter((each) => each.startsWith('source')),
    ['source track', 'source 7'],
  );
});

test('an output that throws is detached, and the others get every event', () => {
  const { distributor, failures, play } = setUp();
  const before = new Collector();
  const after = new Collector();
  let calls = 0;
  distributor.attach(before);
  distributor.attach({
    isRequired: false,
    write: (_, event) => {
      if (event.type !== 'packet') return;
      calls += 1;
      throw new Error('the disk is on fire');
    },
  });
  distributor.attach(after);
  play(0, 4);
  assert.deepEqual([calls, failures.length], [1, 1]);
  assert.deepEqual([before.seen.length, after.seen.length], [10, 10]);
});

test('a slow output drops packets by its own policy, without effect on the others', () => {
  const { distributor, play } = setUp();
  const slow = new Slow();
  const quick = new Collector();
  distributor.attach(slow);
  distributor.attach(quick);
  for (let at = 0; at < 12; at += 1) {
    distributor.write('source', asEvent(packetAt(VIDEO_TRACK, at * 1000, { keyframe: at % 4 === 0 })));
    if (at === 9) slow.drain();
  }
  slow.drain();
  assert.deepEqual([slow.sent, slow.dropped], [[8, 9, 10, 11], 8]);
  assert.equal(quick.seen.length, 14);
  play(12, 13);
});

test('an output is closed once, whether it throws, is detached, or there is nothing more to distribute', () => {
  const { distributor, failures, play } = setUp();
  const [first, second, late] = [new Collector(), new Collector(), new Collector()];
  const detached = distributor.attach(first);
  let closed = 0;
  distributor.attach({
    isRequired: false,
    write: () => assert.fail('it cannot be written to'),
    close: () => {
      closed += 1;
      throw new Error('nor closed');
    },
  });
  distributor.attach(second);
  play(0, 1);
  assert.deepEqual([closed, failures.length], [1, 2]);
  detached[Symbol.dispose]();
  assert.deepEqual([first.closed, second.closed], [1, 0]);
  distributor.close();
  distributor.close();
  detached[Symbol.dispose]();
  play(1, 2);
  distributor.attach(late);
  assert.deepEqual([first.closed, second.closed, late.closed, late.events.length], [1, 1, 1, 0]);
});

test('an output gets nothing after it was detached', () => {
  const { distributor, play } = setUp();
  const collector = new Collector();
  const attached = distributor.attach(collector);
  play(0, 1);
  attached[Symbol.dispose]();
  attached[Symbol.dispose]();
  play(1, 5);
  assert.equal(collector.seen.length, 4);
});
