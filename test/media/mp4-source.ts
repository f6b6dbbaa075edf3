/**
 * Encodes with ffmpeg the codecs that its FLV does not support, and reads track and packets from its MP4 or Ogg output.
 */
import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import type { Track } from '#media/track.ts';
import { readTrack } from '../support/iso-bmff.ts';
import type { Encoded } from './flv-source.ts';

const CONFIGURATION = { h265: 'hvcC', av1: 'av1C' } as const;
/** The size of the header of mono and stereo. */
const OPUS_HEAD_BYTES = 19;

/**
 * Runs ffmpeg, and reads the only track of its output.
 * @param args arguments from the inputs to the encoders, without the output
 */
export async function encodeMp4(codec: 'h265' | 'av1' | 'opus', args: readonly string[]): Promise<Encoded> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-media-'));
  const run = async (name: string, ...output: readonly string[]) => {
    const path = join(folder.path, name);
    await promisify(execFile)('ffmpeg', ['-v', 'error', ...args, ...output, path]);
    return await readFile(path);
  };
  const tag = codec === 'h265' ? ['-tag:v', 'hvc1'] : [];
  const file = await run(
    'track.mp4',
    ...tag,
    '-movflags',
    'frag_keyframe+delay_moov',
    '-video_track_timescale',
    '90000',
  );
  const config = codec === 'opus' ? opusHead(await run('track.ogg')) : boxBody(file, CONFIGURATION[codec]);
  const track: Track = codecOf(codec).parseConfig(config);
  const read = readTrack(file);
  const samples = read.samples.map(({ dts, pts, duration, keyframe, data }) => {
    return { dts: ticks(dts), pts: ticks(pts), durationTicks: duration, keyframe, data };
  });
  return { track, samples };
}

function boxBody(file: Buffer, name: string): Buffer {
  const at = file.indexOf(name);
  return file.subarray(at + 4, at - 4 + file.readUInt32BE(at - 4));
}

function opusHead(file: Buffer): Buffer {
  const at = file.indexOf('OpusHead');
  return file.subarray(at, at + OPUS_HEAD_BYTES);
}
