/**
 * GStreamer's demuxer of MP4s, which shares no code with this service or with ffmpeg's demuxer, reads what recordings give.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type CutSpan, cutMovie } from '#recording/movie-cut.ts';
import { readMovie } from '../support/iso-bmff.ts';
import { encodeNumbered, encodeTone, shifted } from '../support/numbered-frames.ts';
import { assemble, type RecordedVolumes, recordVolumes } from '../support/recorded-volumes.ts';
import { needs } from '../support/tools.ts';

const run = promisify(execFile);

const FRAMES = 100;
/** Whole milliseconds for each frame, because GStreamer also shows a frame that lasts a little longer than the beginning of a clip. */
const FPS = 25;
const AWAY_S = 60;
const ENCODER = 'libx264 -preset veryfast -g 25 -keyint_min 25 -sc_threshold 0 -bf 2';
const WHOLE: CutSpan = { from: -Infinity, until: Infinity };

const BRANCHES = {
  video: 'demuxer.video_0 ! queue ! h264parse ! decodebin ! fakesink silent=false sync=false',
  audio: 'demuxer.audio_0 ! queue ! aacparse ! fakesink silent=false sync=false',
} as const;

/** How many frames or packets GStreamer shows of a file, which it plays to its end. Throws when it reports an error. */
async function shown(file: Uint8Array, kind: keyof typeof BRANCHES): Promise<number> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-gst-'));
  const location = join(folder.path, 'file.mp4');
  await writeFile(location, file);
  const pipeline = `filesrc location=${location} ! qtdemux name=demuxer ${BRANCHES[kind]}`;
  const { stdout, stderr } = await run('gst-launch-1.0', ['-v', ...pipeline.split(' ')], { maxBuffer: 2 ** 26 });
  assert.doesNotMatch(stdout + stderr, /ERROR|CRITICAL|WARN/);
  return stdout.split('\n').filter((line) => line.includes('last-message = chain')).length;
}

describe('GStreamer', needs('gst-launch-1.0'), () => {
  let renditions: readonly [video: RecordedVolumes, audio: RecordedVolumes];
  let packets: number;

  before(async () => {
    const first = await encodeNumbered({ codec: 'h264', encoder: ENCODER, frames: FRAMES, framesPerSecond: FPS });
    const sound = await encodeTone('aac', FRAMES / FPS);
    packets = 2 * sound.samples.length;
    const segmentsAtS = [0, 2, AWAY_S, AWAY_S + 2];
    const options = { segmentsAtS, segmentsPerVolume: 2 };
    renditions = [
      recordVolumes([first, shifted(first, AWAY_S)], options),
      recordVolumes([sound, shifted(sound, AWAY_S)], { ...options, samplesPerPart: 16 }),
    ];
  });

  const movie = (span: CutSpan) => {
    const cut = cutMovie(
      renditions.map(({ samples }) => samples),
      span,
    );
    return assemble(cut!, renditions);
  };

  it('plays every frame and packet of an MP4, also after a pause of the publisher', async () => {
    const file = movie(WHOLE);
    assert.equal(await shown(file, 'video'), 2 * FRAMES);
    const audio = readMovie(file)[1]!;
    const { mediaTime } = audio.edits.at(-1)!;
    const heard = audio.samples.filter(({ pts, duration }) => pts + duration > mediaTime).length;
    // GStreamer 1.22 leaves out the last packet when the edit list begins within the track.
    const left = heard - (await shown(file, 'audio'));
    assert.ok(left === 0 || left === 1, `${left} packets are not heard`);
  });

  it('plays a clip, whose edit list hides the frames from its keyframe to its beginning', async () => {
    const from = 1.4;
    const until = 3.12;
    const clip = movie({ from: from - 0.0005, until: until - 0.0005 });
    assert.equal(await shown(clip, 'video'), Math.round((until - from) * FPS));
  });

  it('plays every volume by itself', async () => {
    const [video, audio] = renditions;
    const frames: number[] = [];
    for (const volume of video.volumes) frames.push(await shown(volume, 'video'));
    assert.deepEqual(frames, [FRAMES, FRAMES]);
    let heard = 0;
    for (const volume of audio.volumes) heard += await shown(volume, 'audio');
    assert.equal(heard, packets);
  });
});
