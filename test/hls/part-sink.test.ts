/**
 * Tests part sinks, which receive exactly what viewers were shown.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Packaged, PartSink } from '#hls/hls.ts';
import { ticks } from '#lib/units.ts';
import { makeClip } from '../support/clip.ts';
import { audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';
import { needs } from '../support/tools.ts';

/** Writes each rendition into a file of its own, like a recorder. */
class FileSink implements PartSink {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-sink-'));
  readonly packaged = new Map<string, Packaged[]>();

  write(renditionId: string, packaged: Packaged): void {
    this.packaged.set(renditionId, [...(this.packaged.get(renditionId) ?? []), packaged]);
    if (packaged.type === 'init') appendFileSync(this.pathOf(renditionId), packaged.bytes);
    if (packaged.type === 'part') appendFileSync(this.pathOf(renditionId), Buffer.concat(packaged.pieces));
  }

  pathOf(renditionId: string): string {
    return join(this.folder, `${renditionId}.mp4`);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

const both = { video: videoTrack(), audio: audioTrack() };
const typesOf = (packaged: readonly Packaged[] = []) => packaged.map(({ type }) => type);

describe('a part sink', () => {
  test('receives the bytes that viewers get, each segment around its parts, and every gap before what fills it', async () => {
    const feed = new Feed(both);
    using sink = new FileSink();
    feed.presentation.attach(sink);
    feed.play(4.5);
    await feed.pause(1);
    feed.play(2.5);
    await feed.session.end();
    for (const rendition of feed.renditions) {
      const packaged = sink.packaged.get(rendition)!;
      assert.deepEqual([packaged[0]?.type, packaged.at(-1)?.type], ['init', 'end'], rendition);
      let endS = 0;
      let segmentS = 0;
      let missingUntilS = 0;
      for (const each of packaged) {
        if (each.type === 'segment_start') assert.equal(segmentS, 0);
        if (each.type === 'gap') missingUntilS = each.untilS;
        if (each.type === 'part') {
          if (each.isFilling) assert.ok(each.startS < missingUntilS || each.msn >= 5);
          const answer = await feed.media(rendition, each.name);
          assert.ok(answer?.type === 'media' && answer.resource.pieces === each.pieces);
          if (endS > 0) assert.ok(Math.abs(each.startS - endS) < 1e-6, 'without a hole');
          endS = each.startS + each.durationS;
          segmentS += each.durationS;
        }
        if (each.type === 'segment') {
          assert.ok(Math.abs(each.durationS - segmentS) < 1e-3);
          segmentS = 0;
        }
      }
      const gaps = packaged.filter((each) => each.type === 'gap');
      assert.ok(gaps.every(({ why }) => why === 'source_interrupted'));
      const awayS = gaps.reduce((sumS, { fromS, untilS }) => sumS + untilS - fromS, 0);
      assert.ok(Math.abs(awayS - 1) < 0.1, `${awayS} s`);
      const filledS = packaged.reduce(
        (sumS, each) => sumS + (each.type === 'part' && each.isFilling ? each.durationS : 0),
        0,
      );
      assert.ok(filledS > 0.3 && filledS < 1.5, `${rendition}: ${filledS} s are filled`);
      const segments = packaged.filter((each) => each.type === 'segment');
      assert.deepEqual(
        segments.map(({ msn, discontinuity }) => [msn, discontinuity]),
        [0, 1, 2, 3, 4, 5].map((msn) => [msn, msn === 3]), // the last one is what no part had when the session ended
      );
    }
  });

  test('that is attached while the session runs begins with the init segments and the next segment of each rendition', () => {
    const feed = new Feed(both);
    using sink = new FileSink();
    feed.play(3);
    const attached = feed.presentation.attach(sink);
    for (const rendition of feed.renditions) assert.deepEqual(typesOf(sink.packaged.get(rendition)), ['init']);
    feed.play(3);
    for (const rendition of feed.renditions) {
      const [, start, first] = sink.packaged.get(rendition) ?? [];
      assert.ok(start?.type === 'segment_start' && start.msn === 2 && start.independent);
      assert.ok(first?.type === 'part' && first.msn === 2 && first.index === 0 && first.independent);
    }
    const before = sink.packaged.get('source')?.length;
    attached[Symbol.dispose]();
    feed.play(3);
    assert.equal(sink.packaged.get('source')?.length, before);
  });

  test('that throws is detached, without effect on viewers and other sinks', async () => {
    const failures: unknown[] = [];
    const feed = new Feed({ ...both, presentation: { onSinkFailed: (error) => void failures.push(error) } });
    using sink = new FileSink();
    feed.presentation.attach({
      write: () => {
        throw new Error('the disk is full');
      },
    });
    feed.presentation.attach(sink);
    await feed.watch(5);
    assert.equal(failures.length, 1);
    assert.deepEqual(await feed.violations({ stepS: 1.5 }), []);
    assert.ok(typesOf(sink.packaged.get('source')).includes('segment'));
  });

  test('writes files that ffprobe reads to the end', needs('ffprobe'), () => {
    const clip = makeClip({ width: 320, height: 180, frames: 150, gop: 60 });
    const feed = new Feed({ video: clip.track, presentation: { windowS: 60 } });
    using sink = new FileSink();
    feed.presentation.attach(sink);
    for (const packet of clip.packets) {
      feed.session.write('video' as never, { ...packet, pts: ticks(packet.pts), dts: ticks(packet.dts) });
    }
    void feed.session.end();
    const options = '-v warning -select_streams v -count_frames -of csv=p=0'.split(' ');
    const entries = 'stream=codec_name,width,height,nb_read_frames';
    const { stdout, stderr, status } = spawnSync('ffprobe', [
      ...options,
      '-show_entries',
      entries,
      sink.pathOf('source'),
    ]);
    assert.deepEqual([status, String(stderr).trim(), String(stdout).trim()], [0, '', 'h264,320,180,150']);
  });
});
