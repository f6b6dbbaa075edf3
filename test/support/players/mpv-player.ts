/**
 * mpv, which hands on no frames: it is asked ten times a second, on its control socket, for a picture of what it shows.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { inflateSync } from 'node:zlib';
import { type FrameCode, readFrameCode } from '../frame-code.ts';
import { MAX_FRAMES, type Player, type Playing, reportOf, type ShownFrame } from './player.ts';

const LOOK_EVERY_MS = 100;
/** Pictures are written without compression and without a filter, so that they are quick to make and to read. */
const ARGS =
  '--no-config --input-terminal=no --msg-level=all=error --vo=null --ao=null --screenshot-format=png --screenshot-png-compression=0 --screenshot-png-filter=0';

/** Debian's mpv, with its own settings. */
export const MPV: Player = { name: 'mpv', play };

async function play(url: string): Promise<Playing> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-mpv-'));
  const control = join(folder, 'control');
  const child = spawn('mpv', [...ARGS.split(' '), `--input-ipc-server=${control}`, url], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const frames: ShownFrame[] = [];
  const complaints: string[] = [];
  const fatal: string[] = [];
  createInterface(child.stderr).on('line', (line) => complaints.length < 1000 && complaints.push(line));
  const stopped = new AbortController();
  let endedAtMs: number | undefined;
  const exited = once(child, 'close').then(([code, signal]) => {
    if (!stopped.signal.aborted && code === 0) endedAtMs = Date.now();
    if (!stopped.signal.aborted && code !== 0) fatal.push(`exit ${code ?? signal}`);
    stopped.abort();
  });
  const looking = look({ control, picture: join(folder, 'picture.png'), frames, signal: stopped.signal });
  return {
    report: async () => reportOf({ frames, endedAtMs, fatal, complaints }),
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      child.kill('SIGKILL');
      await Promise.all([exited, looking]);
      await rm(folder, { recursive: true });
    },
  };
}

interface Look {
  readonly control: string;
  /** The file for pictures. */
  readonly picture: string;
  readonly frames: ShownFrame[];
  readonly signal: AbortSignal;
}

/** Adds what mpv shows to the frames until it is stopped. */
async function look({ control, picture, frames, signal }: Look): Promise<void> {
  let socket: Socket | undefined;
  while (!signal.aborted) {
    socket ??= await connected(control);
    const code = socket === undefined ? undefined : await shown(socket, picture, signal);
    if (code !== undefined && code.counter !== frames.at(-1)?.counter) frames.push({ atMs: Date.now(), ...code });
    if (frames.length > MAX_FRAMES) frames.shift();
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  socket?.destroy();
}

/** Undefined while mpv does not listen yet. */
async function connected(control: string): Promise<Socket | undefined> {
  const socket = connect(control);
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.on('error', () => {});
  return isOpen ? socket : undefined;
}

/** The code of the frame that is shown. Undefined when none is shown yet, or mpv has ended. */
async function shown(socket: Socket, picture: string, signal: AbortSignal): Promise<FrameCode | undefined> {
  socket.write(`${JSON.stringify({ command: ['screenshot-to-file', picture, 'video'], request_id: 1 })}\n`);
  try {
    for (let text = ''; !text.includes('"request_id":1'); ) text += String((await once(socket, 'data', { signal }))[0]);
    const data = await readFile(picture);
    await rm(picture);
    return codeOf(data);
  } catch {
    return undefined;
  }
}

/** Reads the code from a PNG of 8-bit RGB, without compression and without a filter. */
function codeOf(png: Buffer): FrameCode | undefined {
  const bodies: Buffer[] = [];
  for (let at = 8; at + 8 <= png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      bodies.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const width = png.readUInt32BE(16);
  // Each line begins with a byte for its filter.
  const data = inflateSync(Buffer.concat(bodies)).subarray(1);
  return readFrameCode({ data, width, lineStride: 1 + width * 3, pixelStride: 3 });
}
