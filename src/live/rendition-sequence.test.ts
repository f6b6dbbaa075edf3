import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import type { SessionEvent } from '#media/session-event.ts';
import { AUDIO_TRACK, markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { type RenditionRole, RenditionSequence } from './rendition-sequence.ts';
import type { Cut } from './segment-marker.ts';

/** A sequence whose segments begin every two seconds, or as given. */
function setUp(role: RenditionRole, { cuts = [0, 2, 4, 6, 8], discontinuityAt = -1 } = {}) {
  const events: SessionEvent[] = [];
  const marker = {
    isWaiting: false,
    cuts: cuts.map(
      (atS, ordinal): Cut => ({ ordinal, atS, discontinuity: ordinal === discontinuityAt, discontinuitiesBefore: 0 }),
    ),
  };
  const sequence = new RenditionSequence({ id: 'any', role, marker, write: (_, event) => void events.push(event) });
  const track = role === 'follower' ? AUDIO_TRACK : VIDEO_TRACK;
  sequence.setTrack({ type: 'track', track });
  events.length = 0;
  const send = (milliseconds: number, mark?: SegmentMark) => {
    const packet: Packet = packetAt(track, milliseconds, { keyframe: role === 'follower' || mark !== undefined });
    return sequence.packet(mark === undefined ? packet : { ...packet, mark });
  };
  /** Plays a packet every 40 ms, marked where a segment begins. */
  const play = (fromMs: number, untilMs: number) => {
    for (let at = fromMs; at < untilMs; at += 40) {
      send(at, role === 'follower' || at % 2000 > 0 ? undefined : markAt(at / 2000));
    }
  };
  /** The written events, each with the ordinal of the segment it begins: packets as their time, gaps and held frames by name. */
  const written = () =>
    events.splice(0).map((event) => {
      switch (event.type) {
        case 'packet':
          return [event.packet.pts / track.timescale, event.packet.mark?.ordinal];
        case 'gap':
          return [event.why, round(event.fromS), round(event.untilS), event.mark?.ordinal];
        case 'held':
          return ['held', round(event.pts / track.timescale), event.mark?.ordinal];
        default:
          return [event.type];
      }
    });
  return { sequence, marker, send, play, written };
}

const round = (seconds: number) => Math.round(seconds * 1000) / 1000;

test('a rendition begins with a segment, and nothing is written before it', () => {
  const { sequence, send, written } = setUp('transcoded');
  send(1960);
  sequence.interrupt('lost');
  sequence.fillUntil(10);
  assert.deepEqual(written(), []);
  send(2000, markAt(1));
  send(2040);
  assert.deepEqual(written(), [
    [2, 1],
    [2.04, undefined],
  ]);
});

test('audio begins a segment with its first packet at or after the cut', () => {
  const { send, written } = setUp('follower');
  for (const at of [0, 21.333, 1984, 2005.333, 2026.667]) send(at);
  assert.deepEqual(
    written().flatMap(([at, ordinal]) =>
      typeof ordinal === 'number' && typeof at === 'number' ? [[at, ordinal]] : [],
    ),
    [
      [0, 0],
      [2.005, 1],
    ].map(([at, ordinal]) => [at === 2.005 ? 96_256 / 48_000 : at, ordinal]),
  );
});

test('segments that are shorter than a packet of audio get one packet each, without gaps', () => {
  const { send, written } = setUp('follower', { cuts: [0, 0.03, 0.035, 0.064] });
  for (let index = 0; index < 6; index += 1) send(index * 21.333);
  assert.deepEqual(
    written().map(([, ordinal, ...gap]) => [ordinal, ...gap]),
    [[0], [undefined], [1], [2], [3], [undefined]],
  );
});

test('audio that is ahead of the video begins a segment late, and is complete', () => {
  const cuts = [0];
  const { marker, send, written } = setUp('follower', { cuts });
  for (let index = 0; index < 98; index += 1) send(index * 21.333);
  written();
  marker.cuts.push({ ...markAt(1), atS: 2 });
  send(98 * 21.333);
  assert.deepEqual(written(), [[2.090625, 1]]);
});

test('packets known to be missing become gaps as time passes, and the rest when the next segment comes', () => {
  const { sequence, play, written } = setUp('transcoded');
  play(0, 1000);
  written();
  sequence.interrupt('lost');
  sequence.fillUntil(1.2);
  assert.deepEqual(written(), [], 'less than a part is not written');
  sequence.fillUntil(1.6);
  sequence.fillUntil(2.5);
  assert.deepEqual(written(), [
    ['lost', 1, 1.6, undefined],
    ['lost', 1.6, 2, undefined],
    ['lost', 2, 2.5, 1],
  ]);
  play(4000, 4080);
  assert.deepEqual(written(), [
    ['lost', 2.5, 4, undefined],
    [4, 2],
    [4.04, undefined],
  ]);
  assert.equal(sequence.isInterrupted, false);
});

test('packets that a worker still held are written although later packets are missing, unless a gap has taken their place', () => {
  const { sequence, play, written } = setUp('transcoded');
  play(0, 1000);
  sequence.interrupt('lost');
  play(1000, 1080);
  assert.equal(written().length, 27);
  assert.equal(sequence.isInterrupted, true);
  sequence.fillUntil(2.5);
  written();
  play(1080, 2200);
  assert.deepEqual(written(), [], 'packets that come too late, or depend on such packets, are dropped');
});

test('segments that a rendition leaves out become gaps, each with its mark', () => {
  const { play, written } = setUp('transcoded');
  play(0, 2000);
  written();
  play(6000, 6040);
  assert.deepEqual(
    written(),
    [
      ['lost', 2, 2, undefined],
      ['lost', 2, 4, 1],
      ['lost', 4, 6, 2],
      [6, 3],
    ].slice(1),
  );
});

test('a rendition that was shed has gaps with that reason', () => {
  const { sequence, play, written } = setUp('transcoded');
  play(0, 2000);
  written();
  sequence.interrupt('shed');
  sequence.fillUntil(3);
  assert.deepEqual(written(), [['shed', 2, 3, 1]]);
  assert.equal(sequence.isMissingAlone, true);
  sequence.interrupt('source_interrupted');
  assert.equal(sequence.isMissingAlone, false);
});

test('the mark of a packet that comes too late moves to the next usable packet', () => {
  const { sequence, send, play, written } = setUp('transcoded');
  play(0, 1000);
  sequence.interrupt('lost');
  sequence.fillUntil(1.999);
  written();
  send(1990, markAt(1));
  assert.deepEqual(written(), []);
  sequence.packet({ ...packetAt(VIDEO_TRACK, 2030), keyframe: true });
  assert.deepEqual(written(), [
    ['lost', 1.999, 2, undefined],
    [2.03, 1],
  ]);
});

test('while video pauses its last frame is held, and segments that begin in the meantime begin with it', () => {
  const { sequence, play, written } = setUp('leader');
  sequence.hold(ticks(0));
  assert.deepEqual(written(), [], 'no frame is shown yet');
  play(0, 1000);
  written();
  for (const at of [1.5, 2.5, 6.5]) sequence.hold(ticks(at * 90_000));
  assert.deepEqual(written(), [
    ['held', 1.5, undefined],
    ['held', 2.5, 1],
    ['held', 4, 2],
    ['held', 6.5, 3],
  ]);
});

test('segments during an unnoticed pause of the video also begin with its held frame', () => {
  const { play, send, written } = setUp('leader');
  play(0, 1000);
  written();
  send(6000, markAt(3));
  assert.deepEqual(written(), [
    ['held', 2, 1],
    ['held', 4, 2],
    [6, 3],
  ]);
});

test('audio that is missing in the middle becomes a gap, and so does the beginning of a segment', () => {
  const { send, written } = setUp('follower');
  send(0);
  send(21.333);
  send(500);
  send(2600);
  assert.deepEqual(written(), [
    [0, 0],
    [1024 / 48_000, undefined],
    ['lost', 0.043, 0.5, undefined],
    [0.5, undefined],
    ['lost', 0.521, 2, undefined],
    ['lost', 2, 2.6, 1],
    [2.6, undefined],
  ]);
});

test('the absence of the publisher is one gap up to the discontinuity, in every rendition', () => {
  for (const role of ['leader', 'follower', 'transcoded'] as const) {
    const { sequence, send, written } = setUp(role, { cuts: [0, 4.35, 7], discontinuityAt: 2 });
    send(0, role === 'follower' ? undefined : markAt(0));
    written();
    sequence.interrupt('source_interrupted');
    for (const at of [1, 5]) sequence.fillUntil(at);
    send(7000, role === 'follower' ? undefined : markAt(2, { discontinuity: true }));
    const [first, ...rest] = written();
    assert.deepEqual([first?.[0], first?.[2]], ['source_interrupted', 1], role);
    assert.deepEqual(
      rest,
      [
        ['source_interrupted', 1, 4.35, undefined],
        ['source_interrupted', 4.35, 5, 1],
        ['source_interrupted', 5, 7, undefined],
        [7, 2],
      ],
      role,
    );
  }
});

test('nothing passes between a discontinuity and the keyframe after it, except from a transcoder', () => {
  for (const [role, count] of [
    ['leader', 0],
    ['follower', 0],
    ['transcoded', 1],
  ] as const) {
    const { marker, send, play, written } = setUp(role);
    play(0, 1000);
    written();
    marker.isWaiting = true;
    send(1000);
    assert.equal(written().length, count, role);
  }
});

test('a rendition that has ended begins again with a track', () => {
  const { sequence, play, send, written } = setUp('transcoded');
  play(0, 2000);
  written();
  sequence.end();
  sequence.end();
  send(4000, markAt(2));
  assert.deepEqual(written(), [['end']]);
  sequence.setTrack({ type: 'track', track: VIDEO_TRACK });
  send(6000, markAt(3));
  assert.deepEqual(written(), [['track'], [6, 3]]);
});
