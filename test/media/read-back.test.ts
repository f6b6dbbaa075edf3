import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { codecOf } from '#media/codecs.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import type { Track } from '#media/track.ts';
import { readTrack } from '../support/iso-bmff.ts';
import { needs } from '../support/tools.ts';
import { wholeFragment } from '../support/whole-fragment.ts';
import { type Encoded, encode } from './flv-source.ts';
import { encodeMp4 } from './mp4-source.ts';

const run = promisify(execFile);

const video = (size: string, rate: string, filters: string, encoder = '') =>
  `-f lavfi -i testsrc2=size=${size}:rate=${rate},${filters} -frames:v 25 ` +
  `-c:v libx264 -preset ultrafast -g 10 ${encoder}`;
const audio = (rate: number, channels: string) =>
  `-f lavfi -i sine=r=${rate}:d=1 -af aformat=channel_layouts=${channels} -c:a aac`;

const newer = (size: string, filters: string, encoder: string) =>
  `-f lavfi -i testsrc2=size=${size}:rate=30,${filters} -frames:v 25 -c:v ${encoder}`;
const x265 = (params: string) =>
  `libx265 -preset ultrafast -g 10 -x265-params log-level=none:keyint=10:min-keyint=10:scenecut=0${params}`;

/** Sources for ffmpeg. No argument contains a blank. */
const SOURCES: readonly (readonly [what: string, codec: Track['codec'], args: string])[] = [
  ['video with B-frames', 'h264', video('320x180', '30', 'format=yuv420p', '-bf 2')],
  ['video of 1080 lines, eight cropped, at 59.94', 'h264', video('1920x1080', '60000/1001', 'format=yuv420p')],
  ['anamorphic video', 'h264', video('720x576', '25', 'setsar=64/45,format=yuv420p')],
  [
    'BT.709 video',
    'h264',
    video('320x180', '25', 'format=yuv420p', '-x264-params colorprim=bt709:transfer=bt709:colormatrix=bt709'),
  ],
  ['interlaced video', 'h264', video('640x480', '25', 'format=yuv420p', '-flags +ilme+ildct')],
  ['High 4:2:2 video', 'h264', video('320x180', '30', 'format=yuv422p')],
  ['HEVC with B-frames and open GOPs', 'h265', newer('320x180', 'format=yuv420p', x265(':bframes=2'))],
  ['anamorphic HEVC, cropped', 'h265', newer('718x574', 'setsar=64/45,format=yuv420p', x265(':open-gop=0'))],
  [
    'HEVC in HDR10',
    'h265',
    newer('320x180', 'format=yuv420p10le', x265(':colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc')),
  ],
  ['AV1 from libaom', 'av1', newer('320x180', 'format=yuv420p', 'libaom-av1 -usage realtime -cpu-used 8 -g 10')],
  ['AV1 from SVT, ten bits', 'av1', newer('320x180', 'format=yuv420p10le', 'libsvtav1 -preset 12 -g 10')],
  ['mono audio at 44.1 kHz', 'aac', audio(44_100, 'mono')],
  ['stereo audio at 96 kHz', 'aac', audio(96_000, 'stereo')],
  ['Opus', 'opus', '-f lavfi -i sine=r=48000:d=1 -ac 2 -c:a libopus'],
  ['5.1 audio', 'aac', audio(48_000, '5.1')],
  ['5.1 audio with a program config element', 'aac', audio(48_000, '5.1(side)')],
];

for (const [what, codec, args] of SOURCES) {
  describe(`an init segment and fragments of ${what}`, needs('ffmpeg'), () => {
    let source: Encoded;
    let init: Uint8Array;
    const fragments: Uint8Array[] = [];

    before(async () => {
      const list = args.split(' ').filter(Boolean);
      const inFlv = codec === 'h264' || codec === 'aac';
      source = await (inFlv ? encode(codec, list) : encodeMp4(codec, list));
      const { track, samples } = source;
      init = initSegment(track);
      for (let at = 0; at < samples.length; at += 10) {
        fragments.push(wholeFragment(track, fragments.length, samples.slice(at, at + 10)));
      }
    });

    it('contain for mp4box what was written', () => {
      const { track, samples } = source;
      const read = readTrack(init, ...fragments);
      assert.equal(read.trackKind, track.kind);
      assert.equal(read.timescale, track.timescale);
      assert.equal(read.codecString, track.codecString);
      assert.deepEqual([read.width, read.height], track.kind === 'video' ? [track.width, track.height] : [0, 0]);
      assert.equal(read.channels, track.kind === 'audio' ? track.channels : 0);
      assert.deepEqual(
        read.samples.map(({ data, ...sample }) => ({ ...sample, data: Buffer.from(data) })),
        samples.map(({ dts, pts, durationTicks, keyframe, data }) => ({
          dts,
          pts,
          duration: durationTicks,
          keyframe,
          dependsOn: keyframe ? 2 : 1,
          size: data.length,
          data: Buffer.from(data),
        })),
      );
      assert.deepEqual(
        read.fragments.map(({ sequenceNumber }) => sequenceNumber),
        fragments.keys().toArray(),
      );
    });

    it('decode in ffmpeg without a warning, every frame at its time', async () => {
      const { track, samples } = source;
      await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-media-'));
      const file = join(folder.path, 'track.mp4');
      await writeFile(file, Buffer.concat([init, ...fragments]));

      // A program config element names no layout, and without this option ffmpeg warns that it guessed one.
      const decoded = await run('ffmpeg', ['-v', 'warning', '-guess_layout_max', '0', '-i', file, '-f', 'null', '-']);
      assert.equal(decoded.stderr, '');

      const probe = await run('ffprobe', [
        ...'-v warning -count_frames -show_streams -show_packets -of json'.split(' '),
        file,
      ]);
      assert.equal(probe.stderr, '');
      const { packets, streams } = JSON.parse(probe.stdout) as Probe;
      assert.deepEqual(
        packets.map(({ dts, pts, size, flags }) => ({ dts, pts, size, keyframe: flags.startsWith('K') })),
        samples.map(({ dts, pts, keyframe, data }) => ({ dts, pts, size: String(data.length), keyframe })),
      );
      const [stream] = streams;
      assert.ok(stream);
      assert.equal(Number(stream.nb_read_frames), samples.length);
      if (track.kind === 'audio') {
        assert.equal(Number(stream.sample_rate), track.sampleRate);
        assert.equal(stream.channels, track.channels);
        return;
      }
      assert.equal(stream.width, track.codedWidth);
      assert.equal(stream.height, track.codedHeight);
      const [sampleWidth, sampleHeight] = (stream.sample_aspect_ratio ?? '1:1').split(':').map(Number) as [
        number,
        number,
      ];
      assert.equal(Math.round((track.codedWidth * sampleWidth) / sampleHeight), track.width);
    });

    if (codec === 'aac' || codec === 'opus') return;
    it('have keyframes where the encoder marks them', () => {
      const { track, samples } = source;
      assert.ok(track.kind === 'video');
      const read = codecOf(codec).accessUnitReader(track);
      assert.deepEqual(
        samples.map(({ data }) => read(data).keyframe),
        samples.map(({ keyframe }) => keyframe),
      );
      assert.ok(samples.some(({ keyframe }) => !keyframe));
    });
  });
}

/** The fields of ffprobe's JSON that are used. */
interface Probe {
  readonly packets: readonly { dts: number; pts: number; size: string; flags: string }[];
  readonly streams: readonly {
    nb_read_frames: string;
    width?: number;
    height?: number;
    sample_aspect_ratio?: string;
    sample_rate?: string;
    channels?: number;
  }[];
}
