/**
 * Players that are programs of their own: each decodes and paces as it always does, and writes the frames it shows into a pipe.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { readFrameCode } from '../frame-code.ts';
import { MAX_FRAMES, type Player, type Playing, reportOf, type ShownFrame } from './player.ts';

/** Size at which the programs write frames. */
const WIDTH = 320;
const HEIGHT = 180;

/** The user and group `nobody`. */
const NOBODY = 65_534;

/** How a program is started and how its frames are read. */
interface Program {
  readonly name: string;
  readonly command: string;
  /** File descriptor 3 is the pipe for frames. */
  readonly args: (url: string) => readonly string[];
  /** Environment variables besides those of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Whether it refuses to run as root. */
  readonly isForUsers?: boolean;
  /** Matches lines on standard error by which the program reports that it gives up, because it may not exit. */
  readonly fatal?: RegExp;
}

const gstreamer = (name: string, playbin: string, env: NodeJS.ProcessEnv = {}): Program => ({
  name,
  command: 'gst-launch-1.0',
  env,
  args: (url) => ['-q', playbin, `uri=${url}`, `video-sink=${GST_SINK}`, 'audio-sink=fakesink sync=true'],
  fatal: /^ERROR: from element/,
});
const GST_SINK = `videoconvert ! videoscale ! video/x-raw,format=GRAY8,width=${WIDTH},height=${HEIGHT} ! fdsink sync=true fd=3`;

const PROGRAMS: readonly Program[] = [
  {
    name: 'ffmpeg',
    command: 'ffmpeg',
    args: (url) => [
      ...'-nostdin -hide_banner -loglevel warning -i'.split(' '),
      url,
      ...`-map 0:v:0 -vf scale=${WIDTH}:${HEIGHT},format=gray -vsync passthrough -f rawvideo pipe:3 -map 0:a:0 -f null -`.split(
        ' ',
      ),
    ],
  },
  gstreamer('hlsdemux2', 'playbin3'),
  gstreamer('hlsdemux', 'playbin', { GST_PLUGIN_FEATURE_RANK: 'hlsdemux2:NONE' }),
];

/**
 * VLC opens the file for its frames itself, so that this must be a pipe of the user that it runs as. It writes them as YUV4MPEG2, which
 * ffmpeg converts. It exits without an error whatever happens.
 */
const VLC_PROGRAM: Program = {
  name: 'VLC',
  command: 'sh',
  args: (url) => [
    '-c',
    `cvlc --vout=yuv --yuv-yuv4mpeg2 --yuv-file=/dev/stdout --aout=dummy --play-and-exit --no-video-title-show "$0" |
      ffmpeg -loglevel error -probesize 32 -f yuv4mpegpipe -i - -vf scale=${WIDTH}:${HEIGHT},format=gray -vsync passthrough -f rawvideo pipe:3`,
    url,
  ],
  env: { HOME: '/nonexistent' },
  isForUsers: true,
  fatal: /unable to open|not supposed to be run as root/,
};

const asPlayer = (program: Program): Player => ({ name: program.name, play: async (url) => play(program, url) });

/** Debian's `ffmpeg`, and GStreamer with `hlsdemux2` and with `hlsdemux`. */
export const PROGRAM_PLAYERS: readonly Player[] = PROGRAMS.map(asPlayer);

/** Debian's VLC, with its own settings. */
export const VLC: Player = asPlayer(VLC_PROGRAM);

function play({ command, args, env: ownEnv, fatal: givesUp, isForUsers = false }: Program, url: string): Playing {
  const env = { ...process.env, ...ownEnv };
  const nobody = isForUsers && process.geteuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  // A process group of its own, because a shell does not pass signals on.
  const how = { ...nobody, detached: true, env };
  const child = spawn(command, args(url), { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], ...how });
  const frames: ShownFrame[] = [];
  const complaints: string[] = [];
  const fatal: string[] = [];
  readFrames(child.stdio[3] as Readable, frames);
  let rest = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (complaints.length < 1000 && line !== '') complaints.push(line);
      if (givesUp?.test(line)) fatal.push(line);
    }
  });
  let isStopped = false;
  let endedAtMs: number | undefined;
  const exited = once(child, 'close').then(([code, signal]) => {
    if (isStopped) return;
    if (code !== 0) fatal.push(`exit ${code ?? signal}`);
    else if (fatal.length === 0) endedAtMs = Date.now();
  });
  return {
    report: async () => reportOf({ frames, endedAtMs, fatal, complaints }),
    [Symbol.asyncDispose]: async () => {
      isStopped = true;
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL');
      await exited;
    },
  };
}

function readFrames(pipe: Readable, frames: ShownFrame[]): void {
  const frame = Buffer.alloc(WIDTH * HEIGHT);
  let filled = 0;
  pipe.on('error', () => {});
  pipe.on('data', (piece: Buffer) => {
    for (let from = 0; from < piece.length; ) {
      const copied = piece.copy(frame, filled, from);
      from += copied;
      filled += copied;
      if (filled < frame.length) return;
      filled = 0;
      const code = readFrameCode({ data: frame, width: WIDTH, lineStride: WIDTH, pixelStride: 1 });
      if (code !== undefined) frames.push({ atMs: Date.now(), ...code });
      if (frames.length > MAX_FRAMES) frames.shift();
    }
  });
}
