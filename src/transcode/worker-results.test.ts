import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Packet } from '#media/packet.ts';
import type { VideoTrack } from '#media/track.ts';
import { audioTrack, videoTrack } from '#test/support/hls-feed.ts';
import { asEvent, markAt, packetAt } from '#test/support/tracks.ts';
import { FramingError } from './framing.ts';
import { planRenditions } from './rendition-plan.ts';
import { WorkerResults } from './worker-results.ts';

const VIDEO_TRACK = videoTrack();
const SMALL = { name: 'small', bitrate: 300_000, fps: 0, width: 32, height: 32 };
const MARK = markAt(7, { independent: false });
const SOURCE_PACKET = packetAt(VIDEO_TRACK, 100);
const PACKET = { rendition: 0, pts: 9000, dts: 6000, keyframe: true, marked: false, data: new Uint8Array(3) };

/** The results of a worker that has begun with a source. */
function begun({ declaredFrameRate = 30, fps = 0 } = {}) {
  const tracks: VideoTrack[] = [];
  const packets: Packet[] = [];
  const results = new WorkerResults({
    onTrack: (_, track) => void tracks.push(track),
    onPacket: (_, packet) => void packets.push(packet),
    onAudioTrack: () => {},
    onAudioPacket: (packet) => void packets.push(packet),
  });
  const announce = (rate: number) => {
    const source = { ...VIDEO_TRACK, declaredFrameRate: rate };
    const { renditions } = planRenditions([{ ...SMALL, fps }], source);
    results.announce({ renditions, declaredFrameRate: rate });
  };
  announce(declaredFrameRate);
  results.begun();
  return { results, announce, tracks, packets };
}

/** The same results after the rendition's configuration is known. */
function configured() {
  const made = begun();
  made.results.sent(asEvent(SOURCE_PACKET));
  made.results.config(0, VIDEO_TRACK.config);
  return made;
}

test('a packet carries the mark of its source packet, and is marked independent, like every segment start of a rendition', () => {
  const { results, packets } = configured();
  results.sent(asEvent({ ...SOURCE_PACKET, mark: MARK }));
  results.packet({ ...PACKET, marked: true });
  assert.deepEqual(packets[0]?.mark, { ...MARK, independent: true });
});

test('a segment may begin before its marked packet is shown, or with it where the frames before it were lost', () => {
  const { results, packets } = configured();
  results.sent(asEvent({ ...SOURCE_PACKET, mark: MARK }));
  results.sent(asEvent(packetAt(VIDEO_TRACK, 80)));
  for (const pts of [7200, 9000]) results.packet({ ...PACKET, pts, marked: true });
  assert.deepEqual(
    packets.map(({ mark }) => mark?.ordinal),
    [7, 7],
  );
  assert.throws(() => results.packet({ ...PACKET, pts: 9090, marked: true }), FramingError);
});

test('decoding times never go back, also where an encoder begins before its first frame', () => {
  const { results, packets } = configured();
  for (const [pts, dts] of [
    [0, -3000],
    [6000, -1500],
    [9000, 6000],
  ] as const) {
    results.packet({ ...PACKET, pts, dts });
  }
  assert.deepEqual(
    packets.map(({ dts }) => dts),
    [0, 1, 6000],
  );
});

test('a track has the frame rate of its own source, even after the next one was announced, or that of its profile', () => {
  const next = begun({ declaredFrameRate: 30 });
  next.announce(60);
  next.results.config(0, VIDEO_TRACK.config);
  assert.equal(next.tracks[0]?.declaredFrameRate, 30);
  const reduced = begun({ declaredFrameRate: 30, fps: 15 });
  reduced.results.config(0, VIDEO_TRACK.config);
  assert.equal(reduced.tracks[0]?.declaredFrameRate, 15);
});

for (const [what, send] of [
  ['an unknown rendition', ({ results }) => results.packet({ ...PACKET, rendition: 1 })],
  ['a segment start that was not requested', ({ results }) => results.packet({ ...PACKET, marked: true })],
  ['no data', ({ results }) => results.packet({ ...PACKET, data: new Uint8Array() })],
  ['a frame shown before it is decoded', ({ results }) => results.packet({ ...PACKET, pts: 5000 })],
  ['a frame later than any it was given', ({ results }) => results.packet({ ...PACKET, pts: 9001 })],
  ['audio without a track', ({ results }) => results.audio({ pts: 0, data: new Uint8Array(1) })],
  [
    'audio later than what it was given',
    ({ results }) => {
      results.audioConfig(audioTrack().config);
      results.expectAudioUntil(1024);
      results.audio({ pts: 1024, data: new Uint8Array(1) });
    },
  ],
  [
    'anything after it was lost',
    ({ results }) => {
      results.lost();
      results.packet(PACKET);
    },
  ],
] satisfies readonly (readonly [string, (made: ReturnType<typeof configured>) => void])[]) {
  test(`a worker that sends ${what} is refused`, () => {
    const made = configured();
    assert.throws(() => send(made), FramingError);
    assert.deepEqual(made.packets, []);
  });
}

test('packets before their configuration are refused', () => {
  assert.throws(() => begun().results.packet(PACKET), FramingError);
});
