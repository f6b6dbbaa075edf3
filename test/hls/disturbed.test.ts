/**
 * Tests publishers that stop, fail and come back. Playlists must keep every rule.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Presentation } from '#hls/hls.ts';
import { ticks } from '#lib/units.ts';
import { silentFrame } from '#media/codecs/aac-silence.ts';
import type { SessionEvent } from '#media/session-event.ts';
import { audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type ReadSample, readTrack } from '../support/iso-bmff.ts';
import { asEvent, markAt, packetAt, VIDEO_ID } from '../support/tracks.ts';

const { signal } = new AbortController();

type Write = Presentation['write'];

/** Makes a function that intercepts the events of a presentation: `take` passes on each event, drops it, or adds others. */
function intercept(take: (write: Write, ...event: Parameters<Write>) => void) {
  return (presentation: Presentation): void => {
    const write = presentation.write.bind(presentation);
    presentation.write = (renditionId, event) => take(write, renditionId, event);
  };
}

/** The events of a sequence about lost packets, where segments begin every two seconds. */
function gaps(fromS: number, untilS: number): readonly SessionEvent[] {
  const gap = { type: 'gap', why: 'lost' } as const;
  const events: SessionEvent[] = [];
  let atS = fromS;
  for (let cutS = Math.floor(fromS / 2) * 2 + 2; cutS < untilS; cutS += 2) {
    events.push({ ...gap, fromS: atS, untilS: cutS, ...(atS === fromS ? {} : { mark: markAt(atS / 2) }) });
    atS = cutS;
  }
  return [...events, { ...gap, fromS: atS, untilS, ...(atS === fromS ? {} : { mark: markAt(atS / 2) }) }];
}

const both = { video: videoTrack(), audio: audioTrack() };
/** The same video with another configuration. */
const changed = videoTrack({ config: Buffer.concat([both.video.config, Buffer.of(0)]) });
/** Video may lag behind audio by a target duration and a part, because a source may send no frames for a while. */
const PAUSE_STEP_S = 4.9;
/** How far renditions may be apart: the second for which missing audio is waited for, and a part. */
const STEP_S = 1.5;

async function playlistOf(feed: Feed, rendition: string) {
  return readMediaPlaylist((await feed.text(rendition)) ?? '');
}

/** The samples of everything that a rendition lists. */
async function samplesOf(feed: Feed, rendition: string): Promise<readonly ReadSample[]> {
  const samples: ReadSample[] = [];
  for (const { map, uri, parts } of (await playlistOf(feed, rendition)).segments) {
    const media = await Promise.all((uri === undefined ? parts : [{ uri }]).map((each) => bytesOf(feed, each.uri)));
    samples.push(...readTrack(await bytesOf(feed, map!), ...media).samples);
  }
  return samples;
}

async function bytesOf(feed: Feed, uri: string): Promise<Buffer> {
  const [rendition, name] = uri.split('/');
  const answer = await feed.media(rendition!, name!);
  assert.ok(answer?.type === 'media', uri);
  return Buffer.concat(answer.resource.pieces);
}

/** Asserts that each sample begins where the previous one ends. */
function assertContiguous(samples: readonly ReadSample[]): void {
  for (const [index, { dts, duration }] of samples.slice(0, -1).entries()) {
    assert.equal(samples[index + 1]!.dts, dts + duration, `sample ${index + 1}`);
  }
}

const silence = Buffer.from(silentFrame(audioTrack()));
const isSilent = ({ data }: ReadSample) => silence.equals(data);
const seconds = (samples: readonly ReadSample[], timescale: number) =>
  samples.reduce((sum, { duration }) => sum + duration, 0) / timescale;

describe('a presentation', () => {
  test("keeps the target duration with OBS's default of a keyframe every 250 frames, and marks the segments that are not independent", async () => {
    const feed = new Feed({ ...both, fps: 30, gop: 250 });
    await feed.watch(60);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const { segments, tags } = await playlistOf(feed, 'source');
    assert.deepEqual([...new Set(segments.slice(0, -1).map(({ durationS }) => durationS?.toFixed(1)))], ['4.2']);
    assert.equal(tags.has('EXT-X-INDEPENDENT-SEGMENTS'), false);
    assert.equal((await playlistOf(feed, 'audio')).tags.has('EXT-X-INDEPENDENT-SEGMENTS'), true);
  });

  test('continues while nobody publishes, with the newest keyframe and silence, and with a discontinuity afterwards', async () => {
    const feed = new Feed({ ...both, presentation: { windowS: 60 } });
    await feed.watch(9.3);
    await feed.pause(11);
    assert.ok((await samplesOf(feed, 'audio')).slice(-300).every(isSilent));
    await feed.watch(8);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    for (const rendition of feed.renditions) {
      const { segments } = await playlistOf(feed, rendition);
      assert.equal(segments.filter(({ discontinuity }) => discontinuity).length, 1, rendition);
      assert.ok(segments.every(({ parts }) => parts.every(({ uri }) => uri !== undefined)));
    }
    const [video, audio] = [await samplesOf(feed, 'source'), await samplesOf(feed, 'audio')];
    assertContiguous(video);
    assertContiguous(audio);
    const repeated = video.filter(({ keyframe, duration }) => keyframe && duration > 5000);
    assert.ok(Math.abs(seconds(repeated, 90_000) - 11) < 0.5, 'once a part');
    assert.ok(Math.abs(seconds(audio.filter(isSilent), 48_000) - 11) < 0.5);
  });

  test('has no hole where a publisher comes back, however long it was away and whenever its audio begins, and keeps every rule', async () => {
    const milliseconds = (max: number) => fc.integer({ min: 0, max }).map((value) => value / 1000);
    const delay = fc.constantFrom(0, 80, 250);
    const sampleRate = fc.constantFrom(8000, 44_100, 48_000);
    await fc.assert(
      fc.asyncProperty(
        milliseconds(7500),
        milliseconds(500),
        milliseconds(300),
        delay,
        sampleRate,
        async (awayS, unpacedS, lateS, delayMs, rate) => {
          const feed = new Feed({ ...both, audio: audioTrack(rate), delayMs, presentation: { targetDurationS: 2 } });
          feed.play(4.5);
          await feed.pause(awayS, { unpacedS });
          feed.play(lateS, { audio: true });
          feed.play(2.5);
          await feed.session.end();
          await feed.look();
          assertContiguous(await samplesOf(feed, 'audio'));
          assertContiguous(await samplesOf(feed, 'source'));
          assert.deepEqual(await feed.violations({ stepS: PAUSE_STEP_S }), []);
        },
      ),
      // In the example the publisher comes back between two runs of the pacer, when a segment is too long and the next one is not cut yet.
      { numRuns: 60, examples: [[1.85, 0.249, 0.1, 0, 48_000]] },
    );
  });

  test('has no tiny part at the end of a segment that was filled, whenever the publisher comes back', async () => {
    for (let awayS = 3.4; awayS < 8; awayS += 0.13) {
      const feed = new Feed({ ...both, fps: 15, gop: 30, presentation: { targetDurationS: 2 } });
      feed.play(4.5);
      await feed.pause(awayS);
      feed.play(0.5);
      for (const rendition of feed.renditions) {
        const { segments } = await playlistOf(feed, rendition);
        // A publisher that comes back right after a segment has begun makes the whole segment short.
        const complete = segments.filter(
          ({ uri, parts, durationS }) => uri !== undefined && parts.length > 0 && durationS > 0.3,
        );
        assert.ok(complete.length > 0);
        for (const { uri, parts } of complete) {
          assert.ok(
            parts.at(-1)!.durationS > 0.1,
            `away ${awayS}: ${uri} has ${parts.map(({ durationS }) => durationS).join(' ')}`,
          );
        }
      }
    }
  });

  test('has no segment of one tick before a change of configuration whose keyframe comes late', async () => {
    for (const delayMs of [0, 80]) {
      const feed = new Feed({ ...both, fps: 25, gop: 60, delayMs, presentation: { targetDurationS: 2 } });
      await feed.watch(4.8);
      await feed.watch(2.37);
      feed.reconfigure(changed);
      await feed.watch(5);
      assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
      const lengthsS = (await playlistOf(feed, 'source')).segments
        .slice(0, 4)
        .map(({ durationS }) => durationS.toFixed(2));
      assert.deepEqual(lengthsS, ['2.40', '2.40', '2.40', '2.40']);
    }
  });

  test('is silent where the audio stops, and continues with the audio when it is back', async () => {
    const feed = new Feed(both);
    await feed.watch(7.1);
    await feed.watch(6.5, { audio: true });
    assert.ok(isSilent((await samplesOf(feed, 'audio')).at(-1)!));
    await feed.watch(8);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const audio = await samplesOf(feed, 'audio');
    assertContiguous(audio);
    assert.ok(Math.abs(seconds(audio.filter(isSilent), 48_000) - 6.5) < 0.1);
    assert.equal(isSilent(audio.at(-1)!), false);
  });

  for (const audioLateS of [-2.8, -1.5, 1.5, 2.8]) {
    const when = `${Math.abs(audioLateS)} s ${audioLateS > 0 ? 'later' : 'earlier'}`;
    test(`has audio without silence, in segments like those of its video, where it is always sent ${when}`, async () => {
      const feed = new Feed({ ...both, audioLateS });
      await feed.watch(20);
      await feed.pause(5);
      await feed.watch(20);
      assert.deepEqual(await feed.violations({ stepS: STEP_S + Math.abs(audioLateS) }), []);
      const silent = seconds((await samplesOf(feed, 'audio')).filter(isSilent), 48_000);
      assert.ok(silent < 5 + 2 * Math.abs(audioLateS), `${silent} s of silence, 5 of them while nobody published`);
      const startsOf = async (rendition: string) =>
        (await playlistOf(feed, rendition)).segments.map(({ programDateTime }) => Date.parse(programDateTime ?? ''));
      const [source, audio] = [await startsOf('source'), await startsOf('audio')];
      for (const [index, atMs] of audio.slice(-6).entries()) {
        const nearestMs = Math.min(...source.map((each) => Math.abs(each - atMs)));
        assert.ok(nearestMs < 50, `the audio of segment ${index} begins ${nearestMs} ms apart`);
      }
    });
  }

  for (const audioLateS of [-2, 2]) {
    test(`keeps its audio, sent ${audioLateS} s after its video, where the video changes its size`, async () => {
      const feed = new Feed({ ...both, audioLateS });
      const timesS: number[] = [];
      const output = {
        write: (id: string, event: SessionEvent) => {
          if (id === 'audio' && event.type === 'packet') timesS.push(event.packet.pts / 48_000);
        },
        close: () => {},
        isRequired: false,
      };
      feed.session.attach(output);
      feed.play(10);
      const { config } = videoTrack();
      feed.session.setTrack(
        VIDEO_ID,
        videoTrack({ width: 640, height: 360, config: Buffer.concat([config, Buffer.of(0)]) }),
      );
      feed.play(10);
      const longestS = Math.max(...timesS.slice(1).map((atS, index) => atS - timesS[index]!));
      assert.ok(longestS < 0.03, `no audio for ${longestS} s`);
    });
  }

  test('is silent where the audio is always sent more than four seconds later than its video, which is noticed', async () => {
    const feed = new Feed({ ...both, audioLateS: 4.5 });
    await feed.watch(30);
    assert.ok(feed.session.silentS > 20);
    assert.deepEqual(
      (await samplesOf(feed, 'audio')).slice(1).filter((sample) => !isSilent(sample)),
      [],
    );
  });

  test('repeats the newest keyframe in each segment that begins while the video stops, until the next keyframe', async () => {
    const feed = new Feed({ ...both, gop: 300 });
    await feed.watch(3);
    await feed.watch(12, { video: true });
    const { segments } = await playlistOf(feed, 'source');
    assert.ok(segments.slice(1).every(({ parts }) => parts.every(({ independent }) => independent)));
    await feed.watch(4);
    const shown = (await samplesOf(feed, 'source')).filter(({ dts }) => dts > 3 * 90_000);
    assert.ok(
      shown.every(({ keyframe }) => keyframe),
      'what follows the pause needs frames that are not repeated',
    );
    await feed.watch(4);
    assert.equal((await samplesOf(feed, 'source')).at(-1)!.keyframe, false, 'the next keyframe came at 20 s');
    assert.deepEqual(await feed.violations({ stepS: PAUSE_STEP_S, variableFrameRate: true }), []);
    assertContiguous(await samplesOf(feed, 'source'));
  });

  test('extends the last frame where the video pauses and the audio continues', async () => {
    const feed = new Feed(both);
    for (let pauses = 0; pauses < 5; pauses += 1) {
      await feed.watch(3.1);
      await feed.watch(0.8 + 0.6 * pauses, { video: true });
    }
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: PAUSE_STEP_S, variableFrameRate: true }), []);
    for (const rendition of feed.renditions) {
      const { segments } = await playlistOf(feed, rendition);
      const lengthS = segments.reduce((sum, { durationS }) => sum + (durationS ?? 0), 0);
      assert.ok(Math.abs(lengthS - feed.nowS) < 2.2, `${rendition} is ${lengthS} s long`);
    }
    assertContiguous(await samplesOf(feed, 'audio'));
  });

  for (const [what, fromS, untilS] of [
    ['a few frames before a cut', 3.9, 4],
    ['half a second before a cut', 3.5, 4],
    ['a whole segment and more', 2.5, 6],
  ] as const) {
    test(`fills the time of ${what} that a rendition has lost, and begins the same segments as the source`, async () => {
      const feed = new Feed({
        ...both,
        beforeTracks: intercept((write, id, event) => {
          write(id, event);
          if (id !== 'source') return;
          if (event.type === 'track') write('small', { ...event, track: videoTrack({ width: 640, height: 360 }) });
          if (event.type !== 'packet') return;
          const atS = event.packet.dts / 90_000;
          if (atS < fromS - 1e-6 || atS >= untilS - 1e-6) {
            if (Math.abs(atS - untilS) < 1e-6) for (const gap of gaps(fromS, untilS)) write('small', gap);
            write('small', event);
          }
        }),
      });
      feed.play(9);
      const [source, small] = [await playlistOf(feed, 'source'), await playlistOf(feed, 'small')];
      const timesOf = ({ segments }: typeof source) =>
        segments.map(({ programDateTime, durationS }) => [programDateTime, durationS]);
      assert.deepEqual(timesOf(small), timesOf(source));
      assertContiguous(await samplesOf(feed, 'small'));
      const longest = Math.max(...small.segments.flatMap(({ parts }) => parts.map(({ durationS }) => durationS)));
      assert.ok(longest <= small.partTargetS! + 1e-9);
    });
  }

  test('is shown although a rendition ended before that', async () => {
    const feed = new Feed({
      ...both,
      audioLateS: 2.5,
      beforeTracks: intercept((write, id, event) => {
        write(id, event);
        if (id !== 'source') return;
        if (event.type === 'track') {
          write('small', { type: 'track', track: videoTrack({ width: 640, height: 360 }) });
        } else if (event.type === 'packet' && event.packet.dts < 0.5 * 90_000) write('small', event);
      }),
    });
    feed.presentation.offer(['small']);
    feed.play(0.5);
    feed.presentation.offer([]);
    feed.presentation.write('small', { type: 'end' });
    await Promise.resolve(); // the end of one rendition takes effect once it is known that the others go on
    feed.play(4);
    assert.equal(feed.firstParts, 1);
  });

  test('has no playlist for a rendition that ends alone, and lists it again when it begins again', async () => {
    const feed = new Feed({
      ...both,
      beforeTracks: intercept((write, id, event) => {
        write(id, event);
        const atS = event.type === 'packet' ? event.packet.dts / 90_000 : 0;
        if (id !== 'source' || (atS > 5 && atS < 20)) return;
        if (event.type === 'track' || Math.abs(atS - 20) < 1e-6) {
          write('small', { type: 'track', track: videoTrack({ width: 640, height: 360 }) });
        }
        if (event.type === 'packet') write('small', event);
      }),
    });
    const isOffered = async () => (await feed.multivariant())?.includes('small.m3u8');
    const asked = async () => (await feed.presentation.playlist('small', { msn: 0, part: 0 }, { signal })).type;
    feed.presentation.offer(['small']);
    feed.play(5.5);
    const last = (await playlistOf(feed, 'small')).segments.at(-1)!.parts.at(-1)!;
    assert.equal(await isOffered(), true);
    feed.presentation.offer([]);
    feed.presentation.write('small', { type: 'end' });
    assert.deepEqual([await isOffered(), await asked()], [false, 'not_found']);
    assert.equal((await feed.media('small', last.uri.split('/')[1]!))?.type, 'media', 'what was listed can be fetched');
    const isReported = async () => (await feed.text('source'))?.includes('RENDITION-REPORT:URI="small.m3u8"');
    feed.play(1);
    feed.presentation.offer(['small']);
    const absent = { offered: await isOffered(), asked: await asked(), reported: await isReported() };
    assert.deepEqual(
      absent,
      { offered: false, asked: 'not_found', reported: false },
      'it is made again, but not yet there',
    );
    feed.presentation.write('small', { type: 'track', track: videoTrack({ width: 640, height: 360 }) });
    feed.play(1);
    assert.deepEqual([await isOffered(), await feed.text('small'), await isReported()], [false, undefined, false]);
    feed.play(15);
    assert.deepEqual([await isOffered(), await asked(), await isReported()], [true, 'playlist', true]);
    const [source, small] = [await playlistOf(feed, 'source'), await playlistOf(feed, 'small')];
    assert.equal(small.mediaSequence, 10);
    assert.equal(small.segments.at(-1)!.msn, source.segments.at(-1)!.msn);
  });

  test('holds back three parts of a rendition with few frames, also when that begins late', async () => {
    for (const fps of [1, 2, 5]) {
      const feed = new Feed({ ...both, profiles: [{ name: 'few', bitrate: 100_000, fps, width: 320, height: 180 }] });
      await feed.watch(10);
      feed.presentation.write('few', { type: 'track', track: videoTrack({ declaredFrameRate: fps }) });
      for (let frame = 0; frame < 10 * fps; frame++) {
        const dts = ticks((10 + frame / fps) * 90_000);
        const isMarked = frame % (2 * fps) === 0;
        const packet = { kind: 'video', dts, pts: dts, keyframe: isMarked, data: new Uint8Array(40) } as const;
        feed.presentation.write('few', asEvent(isMarked ? { ...packet, mark: markAt(5 + frame / fps / 2) } : packet));
      }
      for (const rendition of feed.renditions) {
        const { partTargetS, serverControl } = await playlistOf(feed, rendition);
        const holdBackS = Number(serverControl.get('PART-HOLD-BACK'));
        assert.ok(holdBackS >= 3 * partTargetS!, `${rendition} at ${fps}: ${holdBackS} s for ${partTargetS} s`);
      }
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
    feed.presentation.write('source', { type: 'track', track: atLevel(40) });
    assert.equal(await hinted(), 'source/init-3.mp4');
    assert.equal((await feed.media('source', 'init-3.mp4'))?.type, 'media');
    feed.presentation.write('source', { type: 'track', track: both.video });
    assert.equal(await hinted(), undefined);
    feed.reconfigure(atLevel(30));
    assert.equal(await hinted(), 'source/init-4.mp4');
    assert.equal((await feed.media('source', 'init-3.mp4'))?.type, 'not_found');
    await feed.watch(5);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    assert.equal((await playlistOf(feed, 'source')).segments.at(-1)?.map, 'source/init-4.mp4');
  });

  test('accepts audio of another sample rate, and keeps its PART-TARGET', async () => {
    const feed = new Feed(both);
    await feed.watch(5);
    feed.reconfigure(audioTrack(44_100));
    await feed.watch(7);
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const { segments, partTargetS } = await playlistOf(feed, 'audio');
    assert.deepEqual([segments.at(-1)?.map, partTargetS], ['audio/init-3.mp4', 0.344]);
  });

  test('fills a hole in audio whose frames have become longer than half a part', async () => {
    const feed = new Feed({ ...both, audio: audioTrack(8000) });
    feed.play(4.5);
    feed.reconfigure(audioTrack(7350));
    feed.play(4.1);
    const write = feed.session.write.bind(feed.session);
    const laterTicks = ticks(Math.round(0.325 * 7350));
    feed.session.write = (id, packet) => {
      if (packet.kind === 'video') return write(id, packet);
      return write(id, { ...packet, dts: ticks(packet.dts + laterTicks), pts: ticks(packet.pts + laterTicks) });
    };
    feed.play(1);
    await feed.look();
    assertContiguous((await samplesOf(feed, 'audio')).slice(-10));
  });

  test('uses no media of another configuration before the segment that has it', async () => {
    const feed = new Feed({ ...both, audio: audioTrack(44_100) });
    await feed.watch(5);
    const faster = audioTrack(48_000);
    feed.presentation.write('audio', { type: 'track', track: faster });
    const before = await feed.text('audio');
    for (let index = 0; index < 40; index++) {
      const dts = ticks(5 * faster.timescale + index * faster.samplesPerPacket);
      const packet = { kind: 'audio', dts, pts: dts, keyframe: true, data: new Uint8Array(20) } as const;
      feed.presentation.write('audio', asEvent(packet));
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
    assert.equal((await playlistOf(feed, 'audio')).partTargetS, 0.351);
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

  test('ends with EXT-X-ENDLIST and a segment of what was left, of which no player has loaded a part, and lists no parts', async () => {
    const feed = new Feed(both);
    await feed.watch(9.1);
    await feed.session.end();
    await feed.look();
    feed.play(3);
    await feed.look();
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
    const { ended, hints, segments } = await playlistOf(feed, 'source');
    assert.deepEqual([ended, hints.length, segments.at(-1)?.uri], [true, 0, 'source/5.m4s']);
    assert.ok(segments.every(({ parts }) => parts.length === 0));
  });

  test('has only parts that are at least 1.5 ms shorter than PART-TARGET, also where a gap is filled', async () => {
    const feed = new Feed(both);
    await feed.watch(4.1);
    await feed.pause(3);
    await feed.watch(2);
    for (const rendition of feed.renditions) {
      const { segments, partTargetS } = await playlistOf(feed, rendition);
      const longestS = Math.max(...segments.flatMap(({ parts }) => parts.map(({ durationS }) => durationS)));
      assert.ok(longestS <= partTargetS! - 0.0015, `${rendition}: ${longestS} s of ${partTargetS} s`);
    }
  });

  test('that ends when a segment has just begun gets one more segment', async () => {
    const feed = new Feed(both);
    await feed.watch(4);
    const listed = async () => (await playlistOf(feed, 'source')).segments;
    const isComplete = async () => (await listed()).at(-1)!.durationS > 0;
    for (let frame = 0; frame < 100 && !(await isComplete()); frame += 1) await feed.watch(1 / 30);
    await feed.watch(0.1);
    const { length } = await listed();
    assert.ok(await isComplete(), 'no part of the next segment is listed yet');
    await feed.session.end();
    assert.equal((await listed()).length, length + 2);
    assert.ok((await listed()).every(({ durationS }) => durationS > 0));
  });

  test('that ends while nobody publishes still has the part that it has announced', async () => {
    const feed = new Feed(both);
    await feed.watch(4.1);
    await feed.pause(3);
    const hints = await Promise.all(
      feed.renditions.map(async (rendition) => (await playlistOf(feed, rendition)).hints.at(-1)!.get('URI')!),
    );
    const held = hints.map((uri) => {
      const [rendition = '', name = ''] = uri.split('/');
      return feed.presentation.media(rendition, name, { signal });
    });
    await feed.session.end();
    for (const answer of await Promise.all(held)) assert.equal(answer.type, 'media');
    await feed.look();
    assert.deepEqual(await feed.violations({ stepS: STEP_S }), []);
  });
});

interface Step {
  readonly type: 'play' | 'mute video' | 'mute audio' | 'pause';
  readonly seconds: number;
}

const duration = fc.integer({ min: 1, max: 60 }).map((tenths) => tenths / 10);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('play' as const), seconds: duration }) },
  fc.record({ type: fc.constantFrom('mute video' as const, 'mute audio' as const), seconds: duration }),
  fc.record({ type: fc.constant('pause' as const), seconds: duration }),
);

test('a pause of the video is no discontinuity although its audio is always sent seconds before or after it', async () => {
  for (const audioLateS of [-2.5, 2.5]) {
    const feed = new Feed({ ...both, audioLateS });
    await feed.watch(8);
    await feed.watch(3, { video: true });
    await feed.watch(4);
    assert.ok((await playlistOf(feed, 'source')).segments.every(({ discontinuity }) => !discontinuity));
  }
});

test('every rule is kept when a publisher comes back at the very moment at which a segment would begin', async () => {
  const feed = new Feed({
    ...both,
    fps: 12,
    gop: 38,
    rounded: false,
    presentation: { targetDurationS: 2, windowS: 12 },
  });
  await feed.watch(10.6);
  await feed.watch(3.6, { video: true });
  await feed.pause(4.7);
  await feed.watch(4);
  assert.deepEqual(await feed.violations({ stepS: 3.5, variableFrameRate: true, lossy: true }), []);
});

test('every rule is kept when the audio comes back less than a frame after a segment has begun', async () => {
  const feed = new Feed({
    ...both,
    fps: 12,
    gop: 10,
    rounded: false,
    delayMs: 80,
    presentation: { targetDurationS: 2, windowS: 12 },
  });
  await feed.watch(4.4);
  await feed.pause(1.3);
  await feed.watch(2.1);
  assert.deepEqual(await feed.violations({ stepS: 3.5 }), []);
});

test('every rule is kept when video comes back a moment before the segment that earlier audio has begun', async () => {
  const audio = audioTrack(44_100);
  const presentation = { targetDurationS: 2, windowS: 12 };
  const feed = new Feed({ ...both, audio, audioLateS: -0.3, fps: 24, gop: 11, rounded: false, presentation });
  await feed.watch(3.3);
  await feed.watch(5.3, { video: true });
  await feed.watch(2.1);
  assert.deepEqual(await feed.violations({ stepS: 3.8, variableFrameRate: true, lossy: true }), []);
});

test('every rule is kept when the video stalls while its audio goes on, and then arrives all at once', async () => {
  for (const gop of [30, 60]) {
    for (const stalledS of [1.5, 2.7, 3.5, 4.5, 5.5, 7]) {
      const feed = new Feed({ ...both, gop, presentation: { targetDurationS: 2, windowS: 60 } });
      await feed.watch(6);
      await feed.watch(stalledS, { video: true });
      for (let frame = 6 * 30; frame < Math.ceil((6 + stalledS) * 30); frame += 1) {
        const packet = packetAt(videoTrack(), Math.round((frame * 1000) / 30), { keyframe: frame % gop === 0 });
        feed.session.write(VIDEO_ID, packet);
      }
      await feed.watch(14);
      const violations = await feed.violations({ stepS: 9, variableFrameRate: true });
      assert.deepEqual(violations, [], `${stalledS} s, a keyframe every ${gop} frames`);
    }
  }
});

test('every rule is kept for any behaviour of a publisher', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        fps: fc.constantFrom(12, 24, 25, 29.97, 30, 50, 59.94, 60),
        gop: fc.integer({ min: 10, max: 300 }),
        rounded: fc.boolean(),
        delayMs: fc.constantFrom(0, 80),
        audioLateS: fc.oneof(
          fc.constant(0),
          fc.integer({ min: -28, max: 28 }).map((tenths) => tenths / 10),
        ),
        audio: fc.constantFrom(undefined, audioTrack(44_100), audioTrack(48_000)),
        video: fc.constantFrom(undefined, videoTrack(), videoTrack()),
      }),
      fc.array(step, { minLength: 1, maxLength: 12 }),
      async (options, steps) => {
        if (options.audio === undefined && options.video === undefined) return;
        const feed = new Feed({ ...options, presentation: { targetDurationS: 2, windowS: 12 } });
        const apartS = Math.abs(options.audioLateS);
        await feed.watch(3 + apartS);
        for (const each of steps) {
          if (each.type === 'play') await feed.watch(each.seconds);
          else if (each.type === 'pause') await feed.pause(each.seconds);
          else await feed.watch(each.seconds, { video: each.type === 'mute video', audio: each.type === 'mute audio' });
        }
        await feed.watch(2);
        // With missing frames no part target can be met.
        const variableFrameRate = steps.some(({ type }) => type === 'mute video');
        assert.deepEqual(
          await feed.violations({ stepS: 3.5 + apartS, variableFrameRate, lossy: variableFrameRate }),
          [],
        );
      },
    ),
    { numRuns: 30 },
  );
});
