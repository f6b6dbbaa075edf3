/**
 * Tests steady publishers with every common frame rate. Playlists must keep every rule.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audioTrack, Feed, type FeedOptions, videoTrack } from '../support/hls-feed.ts';
import { readAttributes, readMediaPlaylist } from '../support/hls-playlist.ts';
import { packetAt, VIDEO_ID } from '../support/tracks.ts';

const NTSC_30 = 30_000 / 1001;
const NTSC_60 = 60_000 / 1001;

interface Steady extends FeedOptions {
  readonly name: string;
  readonly partTarget: string;
  readonly frameRate?: string;
}

const withSound = { audio: audioTrack(48_000) };
const AT_30 = { partTarget: '0.336', frameRate: '30.000' };
const STEADY: readonly Steady[] = [
  { name: '25 fps', fps: 25, gop: 50, video: videoTrack(), ...withSound, partTarget: '0.322', frameRate: '25.000' },
  { name: '25 fps, segments of 2.4 s', fps: 25, gop: 60, video: videoTrack(), ...withSound, partTarget: '0.322' },
  {
    name: '29.97 fps, declared',
    fps: NTSC_30,
    video: videoTrack({ declaredFrameRate: 29.97 }),
    ...withSound,
    partTarget: '0.336',
    frameRate: '29.970',
  },
  {
    name: '29.97 fps in exact ticks',
    fps: NTSC_30,
    rounded: false,
    video: videoTrack(),
    partTarget: '0.336',
    frameRate: '29.970',
  },
  { name: '30 fps', fps: 30, video: videoTrack(), ...withSound, partTarget: '0.336', frameRate: '30.000' },
  {
    name: '30 fps with B-frames',
    fps: 30,
    delayMs: 67,
    video: videoTrack(),
    ...withSound,
    partTarget: '0.336',
    frameRate: '30.000',
  },
  { name: '50 fps', fps: 50, gop: 100, video: videoTrack(), ...withSound, partTarget: '0.342', frameRate: '50.000' },
  {
    name: '59.94 fps, declared',
    fps: NTSC_60,
    gop: 120,
    video: videoTrack({ declaredFrameRate: 59.94 }),
    ...withSound,
    partTarget: '0.336',
    frameRate: '59.940',
  },
  { name: '59.94 fps, not declared', fps: NTSC_60, gop: 120, video: videoTrack(), ...withSound, partTarget: '0.352' },
  {
    name: '30 fps in a session that begins between two milliseconds',
    fps: 30,
    startS: 1.00041,
    video: videoTrack(),
    ...AT_30,
  },
  { name: '60 fps', fps: 60, gop: 120, video: videoTrack(), ...withSound, partTarget: '0.352', frameRate: '60.000' },
  { name: '24 fps', fps: 24, gop: 48, video: videoTrack(), ...withSound, partTarget: '0.336', frameRate: '24.000' },
  { name: '15 fps', fps: 15, gop: 30, video: videoTrack(), ...withSound, partTarget: '0.336', frameRate: '15.000' },
  { name: '1 fps', fps: 1, gop: 2, video: videoTrack(), ...withSound, partTarget: '1.002', frameRate: '1.000' },
  { name: 'video only', fps: 30, video: videoTrack(), partTarget: '0.336', frameRate: '30.000' },
  { name: 'audio only, 44.1 kHz', audio: audioTrack(44_100), partTarget: '0.351' },
  { name: 'audio only, 48 kHz', audio: audioTrack(48_000), partTarget: '0.344' },
];

/** What the playlists announce of the first rendition. */
async function announced(feed: Feed) {
  const [rendition = ''] = feed.renditions;
  const { tags } = readMediaPlaylist((await feed.text(rendition)) ?? '');
  const variant = /#EXT-X-STREAM-INF:(.*)/.exec((await feed.multivariant()) ?? '')?.[1] ?? '';
  return {
    partTarget: readAttributes(tags.get('EXT-X-PART-INF')?.[0] ?? '').get('PART-TARGET'),
    frameRate: readAttributes(variant).get('FRAME-RATE'),
  };
}

/**
 * Asserts that the last part of every complete segment is longer than a limit. hls.js may skip parts of less than 0.2 s, and fires no
 * `ended` after it has skipped one of less than 0.1 s.
 */
async function assertNoTinyEnds(feed: Feed, leastS = 0.2): Promise<void> {
  for (const rendition of feed.renditions) {
    const { segments } = readMediaPlaylist((await feed.text(rendition)) ?? '');
    const last = segments.filter(({ uri }) => uri !== undefined).flatMap(({ parts }) => parts.at(-1)?.durationS ?? []);
    assert.ok(last.length > 2);
    assert.ok(Math.min(...last) > leastS, `hls.js may skip a part of ${Math.min(...last)} s`);
  }
}

for (const { name, partTarget, frameRate, ...options } of STEADY) {
  test(`${name}: every rule is kept, PART-TARGET is ${partTarget}`, async () => {
    const feed = new Feed(options);
    await feed.watch(50);
    assert.deepEqual(await feed.violations({ stepS: 1.1 }), []);
    const found = await announced(feed);
    assert.equal(found.partTarget, partTarget);
    if (frameRate !== undefined) assert.equal(found.frameRate, frameRate);
    for (let look = 0; look < 100; look += 1) {
      feed.play(0.1);
      const texts = await Promise.all(feed.renditions.map(async (rendition) => (await feed.text(rendition)) ?? ''));
      const starts = new Set(texts.map((text) => readMediaPlaylist(text).mediaSequence));
      assert.equal(starts.size, 1, `playlists begin at the segments ${[...starts].join(' and ')}`);
    }
    await assertNoTinyEnds(feed);
  });
}

for (const pauseS of [0.2, 1.9, 5]) {
  for (const sound of [{}, withSound]) {
    const kind = 'audio' in sound ? 'with audio' : 'without audio';
    test(`a source ${kind} that pauses for ${pauseS} s after its first frame is announced by its later frames`, async () => {
      const feed = new Feed({ video: videoTrack(), ...sound, gop: 30 });
      await feed.watch(0.02);
      await feed.watch(pauseS, { video: true });
      await feed.watch(10);
      assert.deepEqual(await announced(feed), AT_30);
      // Video may be behind the audio by a segment, in which it paused.
      assert.deepEqual(await feed.violations({ stepS: 4.9, variableFrameRate: true }), []);
    });
  }
}

test('a source that pauses right after its first frame can be watched when its first segment has ended', async () => {
  const feed = new Feed({ video: videoTrack(), ...withSound });
  await feed.watch(0.02);
  await feed.watch(5, { video: true });
  // Its frame rate is not known yet.
  assert.deepEqual(await announced(feed), { ...AT_30, frameRate: undefined });
});

test('segments of open GOPs are not announced as independent, and those of closed ones with B-frames are', async () => {
  for (const isOpen of [false, true]) {
    const video = videoTrack();
    const feed = new Feed({ video });
    for (let at = 0; at < 200; at += 1) {
      const isKeyframe = at % 60 === 0;
      // Of an open GOP, the two frames after the keyframe are shown before it.
      const delayMs = isOpen && at > 0 && isKeyframe ? 167 : 67;
      feed.session.write(VIDEO_ID, packetAt(video, Math.round(at * 33.333), { keyframe: isKeyframe, delayMs }));
    }
    const { tags, segments } = readMediaPlaylist((await feed.text('source')) ?? '');
    assert.equal(tags.has('EXT-X-INDEPENDENT-SEGMENTS'), !isOpen);
    assert.ok(segments.every(({ parts }) => parts.length === 0 || parts[0]!.independent));
  }
});

test('a rendition of few frames that lasts as declared is announced with its first frame, and does not delay the others', async () => {
  for (const fps of [1, 2, 5]) {
    const feed = new Feed({ fps, gop: 10, video: videoTrack({ declaredFrameRate: fps }) });
    await feed.watch(1 / fps + 0.02);
    assert.equal((await announced(feed)).frameRate, `${fps}.000`);
  }
});

for (const [name, durationsMs] of [
  ['a short pause after its first frame', [100]],
  ['a longer pause after its first frame', [150]],
  ['a pause after its second frame', [33, 300]],
  ['a burst', Array.from({ length: 24 }, () => 1)],
] as const) {
  test(`a source that begins with ${name} is announced with the frame rate that it declares`, async () => {
    let atMs = 0;
    const times = [...durationsMs, ...Array.from({ length: 60 }, () => 33)].map((durationMs) => (atMs += durationMs));
    const feed = new Feed({ video: videoTrack({ declaredFrameRate: 30 }) });
    for (const timeMs of [0, ...times]) {
      feed.session.write(VIDEO_ID, packetAt(videoTrack(), timeMs, { keyframe: timeMs === 0 }));
    }
    assert.equal((await announced(feed)).frameRate, '30.000');
  });
}

for (const [name, change] of [
  ['the audio goes from 48 to 44.1 kHz', async (feed: Feed) => feed.reconfigure(audioTrack(44_100))],
  [
    'a publisher comes back with 60 frames a second',
    async (feed: Feed) => {
      await feed.pause(1);
      feed.changeRate({ fps: 60, gop: 121 });
    },
  ],
] as const) {
  test(`the last part of a segment is not tiny when ${name}, although PART-TARGET stays as it was`, async () => {
    const feed = new Feed({ fps: 30, video: videoTrack(), ...withSound });
    await feed.watch(5);
    await change(feed);
    await feed.watch(20);
    assert.deepEqual(await feed.violations({ stepS: 1.1 }), []);
    await assertNoTinyEnds(feed, 0.1);
  });
}
