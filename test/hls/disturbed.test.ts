/**
 * Publishers that stop, stumble and come back, held to every rule a playlist must keep.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Presentation } from '#hls/hls.ts';
import { ticks } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import { audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';
import { type PlaylistSegment, readMediaPlaylist } from '../support/hls-playlist.ts';

const both = { video: videoTrack(), audio: audioTrack() };
/** Renditions may lie as far apart as one is waited for before gaps take its place, and a part more. */
const STEP_S = 1.5;
/** Pictures may lie a target duration behind sound. */
const PICTURE_STEP_S = 4.5;

async function playlistOf(feed: Feed, rendition: string) {
  return readMediaPlaylist((await feed.text(rendition)) ?? '');
}

type Write = Presentation['write'];

/** Puts itself between a feed and its presentation: each packet is handed on by `take`, or not, or later. */
function intercept(take: (write: Write, ...packet: Parameters<Write>) => void) {
  return (presentation: Presentation): void => {
    const write = presentation.write.bind(presentation);
    presentation.write = (renditionId, packet) => take(write, renditionId, packet);
  };
}

/** Lets a rendition follow the source so many packets behind, with all but those that are lost. */
function smallBehind(count: number, isLost = () => false) {
  const waiting: Packet[] = [];
  return (presentation: Presentation): void => {
    presentation.setTrack('small', videoTrack({ width: 640, height: 360 }), 500_000);
    intercept((write, renditionId, packet) => {
      write(renditionId, packet);
      if (renditionId !== 'source') return;
      if (!isLost()) waiting.push(packet);
      while (waiting.length > count) write('small', waiting.shift()!);
    })(presentation);
  };
}

function secondsOfGaps(segments: readonly PlaylistSegment[]): number {
  const gaps = segments.flatMap(({ parts }) => parts).filter(({ gap }) => gap);
  return gaps.reduce((sum, { durationS }) => sum + durationS, 0);
}

describe('a presentation', () => {
  test("keeps the target duration with OBS's default of a keyframe every 250 frames, saying which segments are not independent", async () => {
    const feed = new Feed({ ...both, fps: 30, gop: 250 });
    await feed.watch(60);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const { segments, tags } = await playlistOf(feed, 'source');
    assert.ok(segments.some(({ durationS }) => durationS === 4));
    assert.equal(tags.has('EXT-X-INDEPENDENT-SEGMENTS'), false);
    assert.equal((await playlistOf(feed, 'audio')).tags.has('EXT-X-INDEPENDENT-SEGMENTS'), true);
  });

  test('goes on with gaps while nobody publishes, and with a discontinuity afterwards', async () => {
    const feed = new Feed(both);
    await feed.watch(9.3);
    await feed.pause(11);
    const paused = await playlistOf(feed, 'audio');
    assert.ok(paused.segments.at(-1)?.parts.every(({ gap }) => gap));
    await feed.watch(8);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    for (const rendition of feed.renditions) {
      const { segments } = await playlistOf(feed, rendition);
      assert.equal(segments.filter(({ discontinuity }) => discontinuity).length, 1, rendition);
      assert.equal(segments.find(({ discontinuity }) => discontinuity)?.gap, false, rendition);
    }
  });

  test('keeps the audio playlist moving when the audio stops, and takes the audio up again', async () => {
    const feed = new Feed(both);
    await feed.watch(7.1);
    await feed.watch(6.5, { audio: true });
    const stopped = await playlistOf(feed, 'audio');
    assert.equal(stopped.segments.at(-1)?.parts.at(-1)?.gap, true);
    await feed.watch(8);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    assert.equal((await playlistOf(feed, 'audio')).segments.at(-1)?.gap, false);
  });

  test('keeps the video playlist moving when the video stops', async () => {
    const feed = new Feed(both);
    await feed.watch(7.1);
    await feed.watch(3.9, { video: true });
    assert.equal((await playlistOf(feed, 'source')).segments.at(-1)?.parts.at(-1)?.gap, false);
    await feed.watch(0.6, { video: true });
    assert.equal((await playlistOf(feed, 'source')).segments.at(-1)?.parts.at(-1)?.gap, true);
    await feed.watch(8);
    assert.deepEqual(await feed.violations({ stepS: PICTURE_STEP_S }), []);
  });

  test('lets the last picture last where the video pauses and the sound goes on, and holds no sound against it', async () => {
    const feed = new Feed({ ...both, lostAfterS: Number.POSITIVE_INFINITY });
    for (let pauses = 0; pauses < 5; pauses += 1) {
      await feed.watch(3.1);
      await feed.watch(0.8 + 0.6 * pauses, { video: true });
    }
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: PICTURE_STEP_S, variableFrameRate: true }), []);
    for (const rendition of feed.renditions) {
      const { segments } = await playlistOf(feed, rendition);
      assert.equal(
        segments.flatMap(({ parts }) => parts).some(({ gap }) => gap),
        false,
        rendition,
      );
      const lengthS = segments.reduce((sum, { durationS }) => sum + (durationS ?? 0), 0);
      assert.ok(Math.abs(lengthS - feed.nowS) < 2.2, `${rendition} is ${lengthS} s long`);
    }
  });

  test('gives a rendition time to come after a source that paused, and the source none where the other one goes on', async () => {
    const waiting: Packet[] = [];
    let isLate = true;
    const feed = new Feed({
      ...both,
      lostAfterS: Number.POSITIVE_INFINITY,
      beforeTracks: (presentation) => {
        const write = presentation.write.bind(presentation);
        presentation.setTrack('small', videoTrack({ width: 640, height: 360 }), 500_000);
        presentation.write = (renditionId, packet) => {
          write(renditionId, packet);
          if (renditionId !== 'source') return;
          waiting.push(packet);
          while (waiting.length > (isLate ? 6 : 0)) write('small', waiting.shift()!);
        };
      },
    });
    const gaps = async (rendition: string) =>
      readMediaPlaylist((await feed.text(rendition)) ?? '').segments.some(({ parts }) => parts.some(({ gap }) => gap));
    feed.play(3);
    feed.play(2.5, { video: true });
    feed.play(3);
    assert.deepEqual([await gaps('source'), await gaps('small')], [false, false]);
    feed.play(2.5, { video: true });
    for (const packet of waiting.splice(0)) feed.presentation.write('small', packet);
    const heldAt = ticks(Math.round(feed.nowS * 90_000));
    for (let frame = -60; frame < 0; frame += 1) {
      const pts = ticks(heldAt + frame * 3000);
      feed.presentation.write('small', { kind: 'video', dts: pts, pts, keyframe: false, data: new Uint8Array(9) });
    }
    isLate = false;
    feed.play(0.5);
    assert.deepEqual([await gaps('source'), await gaps('small')], [true, false]);
  });

  for (const [what, behindMs] of [
    ['goes on where the source does', 0],
    ['begins to decode earlier than the source', 33],
  ] as const) {
    test(`lets a rendition that ${what} begin again at a keyframe of the same time, behind gaps`, async () => {
      const waiting: Packet[] = [];
      let isStuck = false;
      let isLost = false;
      const feed = new Feed({
        ...both,
        startS: 1,
        presentation: { windowS: 60 },
        beforeTracks: (presentation) => {
          const write = presentation.write.bind(presentation);
          presentation.setTrack('small', videoTrack({ width: 640, height: 360 }), 500_000);
          presentation.write = (renditionId, packet) => {
            write(renditionId, packet);
            if (renditionId !== 'source' || isLost) return;
            waiting.push({ ...packet, dts: ticks(packet.dts - behindMs * 90) });
            while (!isStuck && waiting.length > 0) write('small', waiting.shift()!);
          };
        },
      });
      feed.play(5);
      isStuck = true;
      feed.play(1.6);
      isStuck = false; // all that waited comes at once: some of it too late
      feed.play(1.4);
      isLost = true;
      feed.play(4);
      isLost = false; // and two segments do not come at all
      feed.play(2.1);
      const [source, small] = [await playlistOf(feed, 'source'), await playlistOf(feed, 'small')];
      assert.deepEqual(
        small.segments.map(({ programDateTime }) => programDateTime),
        source.segments.map(({ programDateTime }) => programDateTime),
      );
      assert.equal(small.segments.filter(({ gap }) => gap).length, 3);
      const parts = small.segments.flatMap((segment) => segment.parts);
      const begins = parts.filter(({ gap }, index) => gap !== true && parts[index - 1]?.gap);
      assert.deepEqual(
        begins.map(({ independent }) => independent),
        [true, true],
      );
    });
  }

  test('gives sound time to come whose encoder has to start, at first and behind a discontinuity', async () => {
    const waiting: Packet[] = [];
    let isStarting = true;
    const feed = new Feed({
      ...both,
      beforeTracks: intercept((write, renditionId, packet) => {
        if (renditionId === 'audio') waiting.push(packet);
        else write(renditionId, packet);
        while (waiting.length > (isStarting ? 90 : 0)) write('audio', waiting.shift()!);
      }),
    });
    const start = () => {
      isStarting = true;
      feed.play(2.5);
      isStarting = false;
      feed.play(5);
    };
    start();
    await feed.pause(3);
    start();
    const { segments } = await playlistOf(feed, 'audio');
    const gapsS = secondsOfGaps(segments);
    assert.ok(gapsS > 2.5 && gapsS < 3.2, `${gapsS} s of gaps`);
  });

  for (const [lostS, where, untilS] of [
    [0.2, 'before a cut', 4],
    [0.6, 'before a cut', 4],
    [1.5, 'before a cut', 4],
    [0.2, 'inside a segment', 5.5],
    [0.6, 'inside a segment', 5.5],
  ] as const) {
    test(`puts gaps where ${lostS} s of a rendition's pictures were lost ${where}, or lets one last as long as a part can`, async () => {
      let isLost = false;
      const feed = new Feed({ ...both, beforeTracks: smallBehind(3, () => isLost) });
      feed.play(untilS - lostS);
      isLost = true;
      feed.play(lostS);
      isLost = false;
      feed.play(3);
      const { segments, partTargetS } = await playlistOf(feed, 'small');
      const parts = segments.flatMap((segment) => segment.parts);
      assert.deepEqual(
        parts.filter(({ durationS }) => durationS > partTargetS! + 1e-9),
        [],
      );
      const gapsS = secondsOfGaps(segments);
      assert.ok(gapsS <= lostS && gapsS >= lostS - partTargetS!, `${gapsS} s of gaps`);
      assert.equal(gapsS > 0, lostS > partTargetS!, 'a part can be that long');
      const startsOf = async (rendition: string) =>
        (await playlistOf(feed, rendition)).segments.map(({ programDateTime }) => programDateTime);
      assert.deepEqual(await startsOf('small'), (await startsOf('source')).slice(0, segments.length));
    });
  }

  test('puts no gaps where the source paused, for its renditions have no other pictures then', async () => {
    const feed = new Feed({ ...both, lostAfterS: Number.POSITIVE_INFINITY, beforeTracks: smallBehind(6) });
    for (let pauses = 1; pauses < 8; pauses += 1) {
      feed.play(3.1);
      feed.play(0.2 * pauses, { video: true });
    }
    feed.play(3);
    for (const rendition of ['source', 'small']) {
      assert.equal(secondsOfGaps((await playlistOf(feed, rendition)).segments), 0, rendition);
    }
  });

  test('puts gap segments where ordinals were skipped', async () => {
    const feed = new Feed(both);
    await feed.watch(5);
    feed.skipOrdinals(2);
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    for (const rendition of feed.renditions) {
      const { segments } = await playlistOf(feed, rendition);
      assert.deepEqual(segments.map(({ gap }) => gap).slice(0, 6), [false, false, false, true, true, false], rendition);
    }
  });

  test('gives a new init segment a new name, and hints it before it is used', async () => {
    const feed = new Feed(both);
    const hinted = async () =>
      (await playlistOf(feed, 'source')).hints.find((hint) => hint.get('TYPE') === 'MAP')?.get('URI');
    const atLevel = (level: number) => {
      const config = Buffer.from(both.video.config);
      config[3] = level;
      return videoTrack({ config });
    };
    await feed.watch(5);
    feed.presentation.setTrack('source', atLevel(40), undefined);
    assert.equal(await hinted(), 'source/init-3.mp4');
    assert.equal((await feed.media('source', 'init-3.mp4'))?.type, 'media');
    feed.presentation.setTrack('source', both.video, undefined);
    assert.equal(await hinted(), undefined);
    feed.reconfigure(atLevel(30));
    assert.equal(await hinted(), 'source/init-4.mp4');
    assert.equal((await feed.media('source', 'init-3.mp4'))?.type, 'not_found');
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    assert.equal((await playlistOf(feed, 'source')).segments.at(-1)?.map, 'source/init-4.mp4');
  });

  test('takes audio of another sample rate, keeping its PART-TARGET', async () => {
    const feed = new Feed(both);
    await feed.watch(5);
    feed.reconfigure(audioTrack(44_100));
    await feed.watch(7);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const { segments, partTargetS } = await playlistOf(feed, 'audio');
    assert.deepEqual([segments.at(-1)?.map, partTargetS], ['audio/init-3.mp4', 0.342]);
  });

  test('takes nothing of another configuration before the segment that has it', async () => {
    const feed = new Feed({ ...both, audio: audioTrack(44_100) });
    await feed.watch(5);
    const faster = audioTrack(48_000);
    feed.presentation.setTrack('audio', faster, undefined);
    const before = await feed.text('audio');
    for (let index = 0; index < 40; index++) {
      const dts = ticks(5 * faster.timescale + index * faster.samplesPerPacket);
      feed.presentation.write('audio', { kind: 'audio', dts, pts: dts, keyframe: true, data: new Uint8Array(20) });
    }
    assert.equal(await feed.text('audio'), before);
    feed.reconfigure(faster);
    await feed.watch(7);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
  });

  test('has the PART-TARGET of the configuration that the first part has', async () => {
    const feed = new Feed({ audio: audioTrack(48_000) });
    feed.reconfigure(audioTrack(44_100));
    await feed.watch(5);
    assert.deepEqual(await feed.violations(), []);
    assert.equal((await playlistOf(feed, 'audio')).partTargetS, 0.349);
  });

  test('drops packets that come after their time', async () => {
    const feed = new Feed(both);
    await feed.watch(5);
    const before = await feed.text('source');
    feed.late();
    assert.equal(await feed.text('source'), before);
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
  });

  test('continues numbers and discontinuities of an older one after a restart', async () => {
    const feed = new Feed({
      ...both,
      startS: 1234.5,
      presentation: { continued: true, firstMediaSequence: 10_000, firstDiscontinuitySequence: 7 },
    });
    await feed.watch(60);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const first = readMediaPlaylist(feed.history.get('source')?.[0]?.text ?? '');
    assert.deepEqual([first.mediaSequence, first.discontinuitySequence], [10_000, 7]);
    assert.equal(first.segments[0]?.discontinuity, true);
    const last = await playlistOf(feed, 'source');
    assert.equal(last.discontinuitySequence, 8);
    assert.ok(Date.parse(first.segments[0]?.programDateTime ?? '') === feed.options.epoch + 1_234_500);
  });

  test('hints the init segment that comes first, of two configurations that follow each other at once', async () => {
    const feed = new Feed(both);
    const atLevel = (level: number) => {
      const config = Buffer.from(both.video.config);
      config[3] = level;
      return videoTrack({ config });
    };
    await feed.watch(5);
    feed.reconfigure(atLevel(40));
    feed.play(0.01); // its segment has begun, but has no part yet
    feed.reconfigure(atLevel(30));
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
  });

  test('lets sound that pauses at the end of a long segment make it no longer than the target duration', async () => {
    const feed = new Feed({ audio: audioTrack() });
    const write = (index: number, atS: number, ordinal?: number) => {
      const mark = ordinal === undefined ? {} : { mark: { ordinal, independent: true, discontinuity: false } };
      const dts = ticks(Math.round(atS * 48_000));
      feed.presentation.write('audio', {
        kind: 'audio',
        dts,
        pts: dts,
        keyframe: true,
        data: Buffer.of(index),
        ...mark,
      });
    };
    const packetS = 1024 / 48_000;
    for (let i = 0; i < 209; i += 1) write(i, i * packetS, i === 0 ? 0 : undefined);
    for (let i = 0; i < 20; i += 1) write(i, 4.7 + i * packetS, i === 0 ? 1 : undefined);
    await feed.look();
    assert.deepEqual(await feed.violations({ lossy: true }), []);
    assert.equal((await playlistOf(feed, 'audio')).segments.length, 2);
  });

  test('lets the last picture before a pause make its segment no longer than the target duration', async () => {
    const feed = new Feed({
      video: videoTrack(),
      fps: 12,
      rounded: false,
      presentation: { targetDurationS: 2 },
      // Nobody cuts: the packager does, before a segment gets too long.
      beforeTracks: intercept((write, renditionId, { mark, ...packet }) =>
        write(renditionId, mark?.ordinal === 0 ? { ...packet, mark } : packet),
      ),
    });
    feed.play(2.5);
    await feed.pause(3);
    const { segments } = await playlistOf(feed, 'source');
    assert.ok(Math.round(segments[0]!.durationS!) <= 2, `${segments[0]!.durationS} s`);
  });

  test('offers a variant only while there is something of it to see, and again once there is', async () => {
    let isMade = true;
    const feed = new Feed({
      ...both,
      presentation: { targetDurationS: 2, windowS: 12 },
      beforeTracks: (presentation) => {
        const write = presentation.write.bind(presentation);
        presentation.setTrack('small', videoTrack({ width: 640, height: 360 }), 500_000);
        presentation.write = (renditionId, packet) => {
          write(renditionId, packet);
          if (renditionId === 'source' && isMade) write('small', packet);
        };
      },
    });
    const isOffered = async () => (await feed.multivariant())?.includes('small.m3u8');
    feed.play(6);
    isMade = false;
    feed.play(6);
    assert.equal(await isOffered(), true);
    feed.play(14);
    assert.equal(await isOffered(), false);
    assert.match((await feed.text('small')) ?? '', /EXT-X-GAP/, 'those who watch it already go on');
    isMade = true;
    feed.play(4);
    assert.equal(await isOffered(), true);
    await feed.pause(20);
    assert.equal(await isOffered(), true, 'all are as good while nobody publishes');
  });

  test('ends with EXT-X-ENDLIST, keeping what it listed', async () => {
    const feed = new Feed(both);
    await feed.watch(9.1);
    feed.presentation.end();
    await feed.look();
    feed.play(3);
    await feed.look();
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const { ended, hints, segments } = await playlistOf(feed, 'source');
    assert.deepEqual([ended, hints.length, segments.at(-1)?.uri], [true, 0, 'source/4.m4s']);
  });
});

type Step =
  | { readonly type: 'play' | 'mute video' | 'mute audio' | 'pause'; readonly seconds: number }
  | { readonly type: 'skip'; readonly count: number }
  | { readonly type: 'late' };

const duration = fc.integer({ min: 1, max: 60 }).map((tenths) => tenths / 10);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('play' as const), seconds: duration }) },
  fc.record({ type: fc.constantFrom('mute video' as const, 'mute audio' as const), seconds: duration }),
  fc.record({ type: fc.constant('pause' as const), seconds: duration }),
  fc.record({ type: fc.constant('skip' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ type: fc.constant('late' as const) }),
);

test('every rule is kept whatever a publisher does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        fps: fc.constantFrom(12, 24, 25, 29.97, 30, 50, 59.94, 60),
        gop: fc.integer({ min: 10, max: 300 }),
        rounded: fc.boolean(),
        delayMs: fc.constantFrom(0, 80),
        audio: fc.constantFrom(undefined, audioTrack(44_100), audioTrack(48_000)),
        video: fc.constantFrom(undefined, videoTrack(), videoTrack()),
      }),
      fc.array(step, { minLength: 1, maxLength: 12 }),
      async (options, steps) => {
        if (options.audio === undefined && options.video === undefined) return;
        const feed = new Feed({ ...options, presentation: { targetDurationS: 2, windowS: 12 } });
        await feed.watch(3);
        for (const each of steps) {
          if (each.type === 'play') await feed.watch(each.seconds);
          else if (each.type === 'pause') await feed.pause(each.seconds);
          else if (each.type === 'skip') feed.skipOrdinals(each.count);
          else if (each.type === 'late') feed.late();
          else await feed.watch(each.seconds, { video: each.type === 'mute video', audio: each.type === 'mute audio' });
        }
        await feed.watch(2);
        // Where frames are missing, no part target fits.
        const variableFrameRate = steps.some(({ type }) => type === 'mute video');
        assert.deepEqual(await feed.violations({ stepS: 3, lossy: true, variableFrameRate }), []);
      },
    ),
    { numRuns: 30 },
  );
});
