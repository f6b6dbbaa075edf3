/**
 * Tests what viewers of a presentation get: held playlists and parts, media by name, and how long it stays.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import HLS from 'hls-parser';
import { Parser } from 'm3u8-parser';
import type { PlaylistAnswer, PlaylistDirectives, Presentation, RenderedPlaylist } from '#hls/hls.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import { ticks } from '#lib/units.ts';
import { atOnce, audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { asEvent, markAt } from '../support/tracks.ts';

const both = { video: videoTrack(), audio: audioTrack() };
const signal = new AbortController().signal;

/** The request of a player that can begin with parts, whatever the number of the first segment is. */
const FIRST_PART = { msn: 0, part: 0 };

async function playlist(
  feed: Feed,
  rendition: string,
  directives: PlaylistDirectives = FIRST_PART,
): Promise<RenderedPlaylist> {
  const answer = await feed.presentation.playlist(rendition, directives, { signal });
  assert.equal(answer.type, 'playlist');
  return answer.type === 'playlist' ? answer.playlist : assert.fail();
}

async function validityOf(feed: Feed, directives: object): Promise<string> {
  const answer = await feed.presentation.playlist('source', directives, { signal });
  return answer.type === 'playlist' ? answer.validity : answer.type;
}

const hintOf = ({ text }: RenderedPlaylist): string =>
  readMediaPlaylist(text)
    .hints.find((hint) => hint.get('TYPE') === 'PART')
    ?.get('URI')
    ?.split('/')[1] ?? '';

describe('a playlist', () => {
  test('is held until every rendition has its first part, and so is the multivariant one', async () => {
    const feed = new Feed(both);
    const held = Promise.all([
      feed.presentation.multivariant({ signal }),
      feed.presentation.playlist('source', FIRST_PART, { signal }),
    ]);
    feed.play(0.3);
    assert.equal(await feed.multivariant(), undefined);
    assert.equal(feed.firstParts, 0);
    feed.play(0.2);
    assert.deepEqual(
      (await held).map(({ type }) => type),
      ['playlist', 'playlist'],
    );
    assert.equal(feed.firstParts, 1);
  });

  test('without directives is held until two segments are complete, because standard players fail before, and then lists only these', async () => {
    const feed = new Feed(both);
    feed.play(3.5);
    assert.equal((await feed.presentation.playlist('source', FIRST_PART, { signal })).type, 'playlist');
    const held = feed.presentation.playlist('source', {}, { signal });
    feed.play(1);
    const answer = await held;
    assert.ok(answer.type === 'playlist');
    const { segments, hints } = readMediaPlaylist(answer.playlist.text);
    assert.deepEqual([segments.length, segments.every(({ uri }) => uri !== undefined), hints.length], [2, true, 0]);
    feed.play(2);
    assert.equal(readMediaPlaylist((await playlist(feed, 'source', {})).text).hints.length, 1);
  });

  test('waits no longer than audio may be late for a rendition that was announced and never came', async () => {
    const feed = new Feed(both);
    feed.play(3.4, { audio: true });
    assert.equal(await feed.multivariant(), undefined);
    feed.play(0.5, { audio: true });
    const multivariant = (await feed.multivariant()) ?? '';
    assert.match(multivariant, /EXT-X-STREAM-INF/);
    assert.doesNotMatch(multivariant, /AUDIO/);
    assert.equal(await feed.text('audio'), undefined);
  });

  test('waits until the renditions that are being made are in step, because players read the list of variants once', async () => {
    const feed = new Feed({ ...both, beforeTracks: (presentation) => presentation.offer(['small']) });
    feed.play(3.5);
    assert.equal(await feed.multivariant(), undefined, 'a transcoder on a busy machine takes its time');
    feed.presentation.write('small', { type: 'track', track: videoTrack({ width: 640, height: 360 }) });
    const make = (frame: number) => {
      const at = ticks(frame * 3000);
      const mark = frame === 0 ? { mark: markAt(0) } : {};
      const packet = {
        kind: 'video',
        dts: at,
        pts: at,
        keyframe: frame === 0,
        data: Buffer.alloc(9),
        ...mark,
      } as const;
      feed.presentation.write('small', asEvent(packet));
    };
    for (let frame = 0; frame < 80; frame += 1) make(frame);
    assert.equal(await feed.multivariant(), undefined, 'its playlist would end 0.8 s before the others');
    for (let frame = 80; frame < 90; frame += 1) make(frame);
    assert.match((await feed.multivariant()) ?? '', /source\.m3u8[\s\S]*small\.m3u8/);
  });

  test('waits no longer than four seconds for renditions, whatever the target duration is', async () => {
    for (const targetDurationS of [2, 10]) {
      const beforeTracks = (presentation: Presentation) => presentation.offer(['small']);
      const feed = new Feed({ ...both, presentation: { targetDurationS }, beforeTracks });
      feed.play(3.8);
      assert.equal(await feed.multivariant(), undefined);
      feed.play(0.6);
      assert.doesNotMatch((await feed.multivariant()) ?? 'nothing', /small|nothing/);
    }
  });

  test('no longer waits for renditions that were expected but will not come', async () => {
    const feed = new Feed({ ...both, beforeTracks: (presentation) => presentation.offer(['small']) });
    feed.play(3.5);
    assert.equal(await feed.multivariant(), undefined);
    feed.presentation.offer([]);
    assert.match((await feed.multivariant()) ?? '', /source\.m3u8/);
  });

  test('waits for nothing when the publisher leaves, and shows what there is', async () => {
    const feed = new Feed({ ...both, beforeTracks: (presentation) => presentation.offer(['small']) });
    feed.presentation.showNow();
    assert.equal(await feed.multivariant(), undefined, 'there is nothing to show yet');
    assert.equal(feed.firstParts, 0);
    feed.play(3);
    assert.equal(await feed.multivariant(), undefined);
    feed.presentation.showNow();
    assert.equal(feed.firstParts, 1);
    assert.match((await feed.multivariant()) ?? '', /source\.m3u8/);
  });

  test('of a session resumed after a restart is held until the publisher is back, also by its old name', async () => {
    const held: Promise<PlaylistAnswer>[] = [];
    const feed = new Feed({
      ...both,
      presentation: { continued: true, firstMediaSequence: 1_000_000 },
      beforeTracks: (presentation) => {
        held.push(presentation.playlist('source', { msn: 12, part: 3 }, { signal }));
        held.push(presentation.playlist('other', FIRST_PART, { signal }));
      },
    });
    feed.play(0.5);
    const [answer, unknown] = await Promise.all(held);
    assert.match(answer?.type === 'playlist' ? answer.playlist.text : '', /EXT-X-MEDIA-SEQUENCE:1000000/);
    assert.equal(unknown?.type, 'not_found');
  });

  test('with directives is answered as soon as it has the named part, and not before', async () => {
    const feed = new Feed(both);
    feed.play(3);
    const held = feed.presentation.playlist('source', { msn: 1, part: 3 }, { signal });
    assert.equal(await feed.text('source', { msn: 1, part: 3 }), undefined);
    feed.play(0.4);
    const answer = await held;
    assert.ok(answer.type === 'playlist' && answer.validity === 'final');
    assert.match(answer.playlist.text, /1\.3\.m4s"\n#EXT-X-PRELOAD/);
    assert.equal(await validityOf(feed, { msn: 0 }), 'final');
    feed.play(8);
    assert.equal(await validityOf(feed, {}), 'current');
    assert.equal(
      await validityOf(feed, { msn: 1, part: 3 }),
      'unshared',
      'no player that keeps up asks for this position',
    );
  });

  test('is one object for all viewers of a version, compressed once', async () => {
    const feed = new Feed(both);
    feed.play(9);
    const [one, other] = await Promise.all([playlist(feed, 'source'), playlist(feed, 'source')]);
    assert.equal(one, other);
    assert.equal(one.gzip(), other.gzip());
    assert.equal(gunzipSync(await one.gzip()).toString(), one.text);
    feed.play(0.5);
    assert.notEqual((await playlist(feed, 'source')).text, one.text);
  });

  test('ignores directives once it has ended', async () => {
    const feed = new Feed(both);
    feed.play(50);
    const held = feed.presentation.playlist('source', { msn: 25 }, { signal });
    await feed.session.end();
    for (const [answer, validity] of [
      [await held, 'current'],
      [await feed.presentation.playlist('source', { msn: 999, skip: true }, { signal }), 'unshared'],
    ] as const) {
      assert.ok(answer.type === 'playlist' && answer.playlist.ended);
      assert.equal(answer.validity, validity);
      assert.doesNotMatch(answer.playlist.text, /EXT-X-SKIP/);
    }
  });

  test('held for three target durations times out', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const feed = new Feed(both);
    feed.play(3);
    const held = [
      feed.presentation.playlist('source', { msn: 2 }, { signal }),
      feed.presentation.media('source', hintOf(await playlist(feed, 'source')), { signal }),
      new Feed(both).presentation.multivariant({ signal }),
    ];
    t.mock.timers.tick(13_000);
    assert.deepEqual(
      (await Promise.all(held)).map(({ type }) => type),
      ['timeout', 'timeout', 'timeout'],
    );
  });

  test('of a rendition added later begins at its first segment, with the same discontinuity sequence', async () => {
    const feed = new Feed(both);
    feed.play(5);
    await feed.pause(1);
    feed.play(20);
    const later = new Feed({ ...both });
    later.play(5);
    await later.pause(1);
    later.play(1);
    later.presentation.write('small', { type: 'track', track: videoTrack({ width: 640, height: 360 }) });
    later.presentation.offer(['small']);
    assert.ok(await later.multivariant());
    const at = Math.round(later.nowS * 90_000) as never;
    const ordinal = readMediaPlaylist((await playlist(later, 'source')).text).segments.at(-1)!.msn + 1;
    const mark = markAt(ordinal, { discontinuitiesBefore: 1 });
    for (let frame = 0; frame < 30; frame += 1) {
      const dts = (at + frame * 3000) as never;
      const data = new Uint8Array(9);
      const packet = { kind: 'video' as const, dts, pts: dts, keyframe: frame === 0, data };
      later.presentation.write('small', asEvent(frame === 0 ? { ...packet, mark } : packet));
    }
    const small = readMediaPlaylist((await playlist(later, 'small')).text);
    const source = readMediaPlaylist((await playlist(later, 'source')).text);
    assert.equal(small.mediaSequence, ordinal);
    assert.equal(small.discontinuitySequence, source.segments.at(-1)?.discontinuityNumber);
    assert.deepEqual(
      small.reports.map((each) => each.get('URI')),
      ['source.m3u8', 'audio.m3u8'],
    );
    assert.match((await later.multivariant()) ?? '', /640x360/);
  });

  test('is not found for a rendition that was not announced', async () => {
    const feed = new Feed(both);
    assert.deepEqual(await feed.presentation.playlist('other', {}, { signal }), { type: 'not_found' });
  });
});

describe('media', () => {
  test('of a segment is that of its parts, and shares their bytes', async () => {
    const feed = new Feed(both);
    feed.play(5);
    for (const rendition of feed.renditions) {
      const { segments } = readMediaPlaylist((await playlist(feed, rendition)).text);
      for (const { uri = '', parts } of segments.slice(0, 2)) {
        const whole = await feed.media(rendition, uri.split('/')[1] ?? '');
        const pieces = await Promise.all(parts.map((part) => feed.media(rendition, part.uri.split('/')[1] ?? '')));
        assert.ok(whole?.type === 'media');
        for (const [index, piece] of pieces.entries()) {
          assert.ok(piece?.type === 'media');
          assert.equal(whole.resource.pieces[index], piece.resource.pieces[0]);
        }
        assert.equal(whole.resource.pieces.length, parts.length);
      }
    }
  });

  test('of a hinted part is held until the part is complete, and is what the playlist then lists', async () => {
    const feed = new Feed(both);
    feed.play(3);
    for (const rendition of feed.renditions) {
      const name = hintOf(await playlist(feed, rendition));
      const held = feed.presentation.media(rendition, name, { signal });
      assert.equal(await feed.media(rendition, name), undefined);
      feed.play(0.4);
      const answer = await held;
      assert.equal(answer.type, 'media');
      const { segments } = readMediaPlaylist((await playlist(feed, rendition)).text);
      assert.ok(segments.some(({ parts }) => parts.some(({ uri }) => uri === `${rendition}/${name}`)));
    }
  });

  test('of a hinted part always exists in the end, even if no more frames come: it has the frames so far, and the newest keyframe again', async () => {
    const feed = new Feed(both);
    feed.play(3.2);
    const names = async () =>
      Promise.all(feed.renditions.map(async (rendition) => hintOf(await playlist(feed, rendition))));
    for (let hints = 0; hints < 5; hints += 1) {
      const held = (await names()).map((name, index) =>
        feed.presentation.media(feed.renditions[index]!, name, { signal }),
      );
      if (hints === 0) await feed.pause(0.5);
      else feed.session.stop();
      await feed.pause(0.5);
      assert.deepEqual(
        (await Promise.all(held)).map(({ type }) => type),
        ['media', 'media'],
      );
    }
  });

  test('that was never listed is answered as not found at once', async () => {
    const feed = new Feed(both);
    feed.play(3);
    for (const unknown of ['9.m4s', '0.99.m4s', 'init-9.mp4', '../secret', '']) {
      assert.equal((await feed.media('source', unknown))?.type, 'not_found', unknown);
    }
  });

  test('stays for its own duration and that of the playlist that listed it, and then its memory is freed', async () => {
    const feed = new Feed({ ...both, frameBytes: 1000 });
    feed.play(44.5);
    assert.equal(readMediaPlaylist((await feed.text('source')) ?? '').mediaSequence, 4);
    assert.equal((await feed.media('source', '0.m4s'))?.type, 'media');
    assert.equal((await feed.media('source', '0.0.m4s'))?.type, 'media');
    feed.play(45);
    assert.equal((await feed.media('source', '0.m4s'))?.type, 'media');
    feed.play(2);
    assert.equal((await feed.media('source', '0.m4s'))?.type, 'not_found');
    assert.equal((await feed.media('source', '0.0.m4s'))?.type, 'not_found');
    assert.equal((await feed.media('source', 'init-0.mp4'))?.type, 'media');
    const before = feed.options.memory.usedBytes;
    feed.play(200);
    assert.ok(Math.abs(feed.options.memory.usedBytes / before - 1) < 0.05);
  });

  test('that no playlist lists is freed when memory runs out, and then new media is dropped with one report', async () => {
    const feed = new Feed({ ...both, frameBytes: 1000, presentation: { memory: createMediaMemory(1_900_000) } });
    feed.play(70);
    assert.equal(feed.exhausted, 0);
    assert.equal((await feed.media('source', '3.m4s'))?.type, 'not_found');
    const [listed] = readMediaPlaylist((await playlist(feed, 'source')).text).segments;
    assert.equal((await feed.media('source', listed?.uri?.split('/')[1] ?? ''))?.type, 'media');
    const small = new Feed({ ...both, frameBytes: 1000, presentation: { memory: createMediaMemory(300_000) } });
    small.play(60);
    assert.equal(small.exhausted, 1);
    assert.ok(small.options.memory.usedBytes <= 300_000);
    assert.equal((await small.media('source', '0.m4s'))?.type, 'media');
  });

  test('that is used up ends the playlists of the session, with everything that they list', async () => {
    for (const limitBytes of [300_000, 310_000, 320_000, 330_000, 340_000]) {
      const memory = createMediaMemory(limitBytes);
      const feed = new Feed({ ...both, frameBytes: 1000, presentation: { memory } });
      while (feed.exhausted === 0) feed.play(0.15);
      const msn = readMediaPlaylist((await playlist(feed, 'source')).text).segments.at(-1)?.msn ?? 0;
      const held = feed.presentation.playlist('source', { msn: msn + 1 }, { signal });
      await feed.session.end();
      assert.equal((await held).type, 'playlist');
      for (const rendition of feed.renditions) {
        const { text, ended } = await playlist(feed, rendition);
        assert.ok(ended && text.includes('#EXT-X-ENDLIST'), rendition);
        for (const { uri } of readMediaPlaylist(text).segments) {
          const answer = await feed.media(rendition, uri?.split('/')[1] ?? '');
          assert.ok(answer?.type === 'media' && answer.resource.sizeBytes > 0, `${rendition} ${uri}`);
        }
      }
      assert.ok(memory.usedBytes <= limitBytes);
      assert.equal(feed.exhausted, 1);
    }
  });

  test('is freed when the presentation is disposed, and all waiting requests are answered', async () => {
    const feed = new Feed(both);
    feed.play(60);
    const name = hintOf(await playlist(feed, 'source'));
    const held = [
      feed.presentation.playlist('source', { msn: 30 }, { signal }),
      feed.presentation.media('source', name, { signal }),
    ];
    feed.presentation[Symbol.dispose]();
    feed.presentation[Symbol.dispose]();
    assert.deepEqual(
      (await Promise.all(held)).map(({ type }) => type),
      ['not_found', 'not_found'],
    );
    assert.equal((await feed.presentation.multivariant({ signal })).type, 'not_found');
    feed.play(1);
    assert.equal(feed.options.memory.usedBytes, 0);
  });

  test('requests that were aborted leave nothing behind', async () => {
    const feed = new Feed(both);
    feed.play(3);
    const held = await atOnce((left) => feed.presentation.playlist('source', { msn: 2 }, { signal: left }));
    assert.equal(held, undefined);
  });
});

// The checker counts three segments where the draft counts three target durations, and reports that.
HLS.setOptions({ silent: true });

describe('other readers of HLS', () => {
  test('read the playlists correctly', async () => {
    const feed = new Feed(both);
    feed.play(20);
    await feed.pause(3);
    feed.play(30);
    for (const rendition of feed.renditions) {
      const { text } = await playlist(feed, rendition);
      const ours = readMediaPlaylist(text);
      const parsed = HLS.parse(text);
      assert.ok(!parsed.isMasterPlaylist);
      assert.equal(parsed.partTargetDuration, ours.partTargetS);
      assert.equal(parsed.lowLatencyCompatibility?.canBlockReload, true);
      assert.equal(parsed.mediaSequenceBase, ours.mediaSequence);
      assert.equal(parsed.renditionReports.length, 1);
      assert.deepEqual(
        parsed.segments
          .filter(({ uri }) => uri)
          .map(({ uri, duration, discontinuity = false }) => [uri, duration, discontinuity]),
        ours.segments
          .filter(({ uri }) => uri)
          .map(({ uri, durationS, discontinuity }) => [uri, durationS, discontinuity]),
      );
      const parser = new Parser();
      parser.push(text);
      parser.end();
      const { manifest } = parser;
      assert.equal(manifest.targetDuration, 4);
      assert.equal(manifest.mediaSequence, ours.mediaSequence);
      assert.deepEqual(
        manifest.segments.filter(({ duration }) => duration).map(({ uri, duration }) => [uri, duration]),
        ours.segments.filter(({ uri }) => uri).map(({ uri, durationS }) => [uri, durationS]),
      );
      const delta = HLS.parse((await playlist(feed, rendition, { ...FIRST_PART, skip: true })).text);
      assert.ok(!delta.isMasterPlaylist && delta.skip > 0);
    }
    const multivariant = HLS.parse((await feed.multivariant()) ?? '');
    assert.ok(multivariant.isMasterPlaylist);
    const [variant] = multivariant.variants;
    assert.deepEqual([variant?.uri, variant?.codecs], ['path/source.m3u8', 'avc1.64001f,mp4a.40.2']);
    assert.deepEqual(
      variant?.audio.map(({ uri }) => uri),
      ['path/audio.m3u8'],
    );
  });
});
