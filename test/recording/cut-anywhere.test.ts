/**
 * Recordings whose server was killed after any frame, and whose publisher came back: what ffmpeg says of their replay and their MP4.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import * as tags from '#hls/tags.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { cutMovie } from '#recording/movie-cut.ts';
import { readMovie } from '../support/iso-bmff.ts';
import { encodeNumbered, shifted } from '../support/numbered-frames.ts';
import { assemble, recordVolumes, type Stretch } from '../support/recorded-volumes.ts';
import { needs } from '../support/tools.ts';
import { wholeFragment } from '../support/whole-fragment.ts';

const run = promisify(execFile);

const GOP = 30;
/** The encoder may show a frame up to four frames later than those that it sends after it. */
const ENCODER = `libx264 -preset veryfast -g ${GOP} -keyint_min ${GOP} -sc_threshold 0 -bf 3 -x264-params b-adapt=0:b-pyramid=normal`;
/** More frames than a part has and fewer than a GOP. */
const MOST_FRAMES = 28;

/**
 * Everything that ffmpeg says while it decodes all of a file, in the time base of the media. By default ffmpeg rounds times to those of a
 * constant frame rate. Then it finds two frames at the same time, and says so, where an encoder has whole milliseconds and a run begins
 * half a frame beside that rate.
 */
async function complaints(path: string): Promise<string> {
  const args = `-nostdin -v warning -xerror -i ${path} -map 0:v -enc_time_base -1 -f null -`.split(' ');
  const { stderr } = await run('ffmpeg', args).catch((error: { stderr: string }) => error);
  return stderr;
}

/** An ended EVENT playlist with a segment for each run, and its files. */
async function writeReplay(folder: string, runs: readonly Stretch[]): Promise<string> {
  const lines = [tags.head(), '#EXT-X-PLAYLIST-TYPE:EVENT', tags.targetDuration(2), tags.mediaSequence(0)];
  lines.push(tags.map('init.mp4'));
  await writeFile(join(folder, 'init.mp4'), initSegment(runs[0]!.track));
  for (const [index, { track, samples }] of runs.entries()) {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < samples.length; at += 12) {
      parts.push(wholeFragment(track, index + 1, samples.slice(at, at + 12)));
    }
    const ticks = samples.reduce((sum, { durationTicks }) => sum + durationTicks, 0);
    if (index > 0) lines.push(tags.discontinuity());
    lines.push(tags.extinf(ticks / track.timescale), `${index}.m4s`);
    await writeFile(join(folder, `${index}.m4s`), Buffer.concat(parts));
  }
  const path = join(folder, 'replay.m3u8');
  await writeFile(path, [...lines, tags.endList(), ''].join('\n'));
  return path;
}

describe('a recording that was cut after any frame and went on', needs('ffmpeg'), () => {
  let runs: readonly Stretch[];

  before(async () => {
    const { track, samples } = await encodeNumbered({ codec: 'h264', encoder: ENCODER, frames: GOP });
    let atS = 0;
    runs = Array.from({ length: MOST_FRAMES }, (_, index) => {
      const cut = shifted({ track, samples: samples.slice(0, index + 1) }, atS);
      // The publisher comes back at any time, which is not in step with the frames.
      atS += 1.55 + (index % 2) / 100;
      return cut;
    });
  });

  it('plays as HLS without a complaint', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-cut-'));
    assert.equal(await complaints(await writeReplay(folder.path, runs)), '');
  });

  it('plays as an MP4 without a complaint, and shows each frame after the one before it', async () => {
    const startsS = runs.map(({ samples }) => samples[0]!.pts / 90_000);
    const recorded = recordVolumes(runs, { segmentsAtS: startsS, samplesPerPart: 12 });
    const file = assemble(cutMovie([recorded.samples], { from: -Infinity, until: Infinity })!, [recorded]);
    const [track] = readMovie(file);
    const shown = track!.samples.map(({ pts }) => pts);
    let first = 0;
    for (const { samples } of runs.slice(0, -1)) {
      const next = first + samples.length;
      const last = Math.max(...shown.slice(first, next));
      assert.ok(Math.min(...shown.slice(next)) > last, `sample ${next} is shown before the end of the run before it`);
      first = next;
    }
    await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-cut-'));
    const path = join(folder.path, 'movie.mp4');
    await writeFile(path, file);
    assert.equal(await complaints(path), '');
  });
});
