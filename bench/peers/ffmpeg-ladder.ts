/**
 * Peer: one `ffmpeg` command (Debian's) that takes RTMP and writes the ladder as fMP4 HLS, with the settings of our encoders.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { VideoTrack } from '#media/track.ts';
import { libx264 } from '#transcode/encoders/libx264.ts';
import { planRenditions, type RenditionPlan } from '#transcode/rendition-plan.ts';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import type { Ladder } from '../support/ladder.ts';

/** A folder in memory, so that the speed of a disk has no influence. */
const TMPFS = '/dev/shm';
const STREAM_KEY = 'bench';
const SEGMENT_S = 2;
/** How our transcoders scale. */
const SCALING = 'bicublin';

/** A running command that waits for its one publisher. */
export interface FfmpegLadder extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  readonly streamKey: string;
  /** Whether every rendition has a whole segment. */
  isWriting(): Promise<boolean>;
}

/** Starts the command, and waits until it listens. */
export async function startFfmpegLadder(ladder: Ladder): Promise<FfmpegLadder> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await temporaryFolder(TMPFS)).path;
  const port = await freePort();
  const child = spawn('ffmpeg', command(ladder, `rtmp://127.0.0.1:${port}/live/${STREAM_KEY}`, folder), {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  parts.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  // It does not connect to find out, because the command takes the first connection for the publisher.
  await waitFor(() => isListening(port), { what: 'ffmpeg to listen' });
  const running = parts.move();
  return {
    pid: child.pid!,
    port,
    streamKey: STREAM_KEY,
    isWriting: async () =>
      (await readdir(folder)).filter((name) => name.endsWith('.m3u8')).length >= ladder.profiles.length + 3,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function command({ source, profiles }: Ladder, url: string, folder: string): readonly string[] {
  const { renditions } = planRenditions(profiles, {
    ...source,
    declaredFrameRate: source.fps,
  } as unknown as VideoTrack);
  // As in our transcoder, each rung is scaled from the next larger one.
  const chain = renditions.map(({ width, height }, index) => {
    const isLast = index === renditions.length - 1;
    const from = index === 0 ? '0:v' : `s${index - 1}`;
    return `[${from}]scale=${width}:${height}:flags=${SCALING}${isLast ? `[v${index}]` : `,split[v${index}][s${index}]`}`;
  });
  return [
    ['-nostdin', '-hide_banner', '-loglevel', 'fatal', '-threads', '1', '-listen', '1', '-i', url],
    ['-filter_complex_threads', '1', '-filter_complex', chain.join(';')],
    ['-map', '0:v', ...renditions.flatMap((_, index) => ['-map', `[v${index}]`]), '-map', '0:a'],
    ['-c:v:0', 'copy', '-c:a', 'copy', '-force_key_frames', `expr:gte(t,n_forced*${SEGMENT_S})`],
    renditions.flatMap((plan, index) => encoderOptions(plan, source.fps, index + 1)),
    ['-f', 'hls', '-hls_time', `${SEGMENT_S}`, '-hls_segment_type', 'fmp4', '-hls_list_size', '18'],
    ['-hls_flags', 'delete_segments', '-master_pl_name', 'index.m3u8'],
    [
      '-var_stream_map',
      [...[0, ...renditions.keys()].map((_, index) => `v:${index},agroup:a`), 'a:0,agroup:a'].join(' '),
    ],
    ['-hls_fmp4_init_filename', 'init_%v.mp4', join(folder, '%v.m3u8')],
  ].flat();
}

/** The settings of our transcoder's encoders, as options of the command. */
function encoderOptions(plan: RenditionPlan, framesPerSecond: number, stream: number): readonly string[] {
  const settings = { preset: 'veryfast', threads: 1, framesPerSecond };
  const { 'x264-params': params = '', ...options } = libx264.options(plan, settings);
  // The muxer converts start codes to lengths by itself.
  const others = params.split(':').filter((each) => each !== 'annexb=0');
  const all = { ...options, 'x264-params': others.join(':') };
  return [
    `-c:v:${stream}`,
    libx264.name,
    ...Object.entries(all).flatMap(([name, value]) => [`-${name}:v:${stream}`, value]),
  ];
}

/** Whether a process listens on this loopback port, according to the kernel (proc_pid_net(5)). */
function isListening(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return new RegExp(`:${hex} 00000000:0000 0A`).test(readFileSync('/proc/net/tcp', 'utf8'));
}
