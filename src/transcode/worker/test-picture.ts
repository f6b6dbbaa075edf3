/**
 * Draws the test picture: a moving pattern with the time since its start, and a tone that beeps every second. It is a process of its own,
 * which writes H.264 and AAC to file descriptor 3 at the pace of the clock, from the first byte that it gets there until the connection ends.
 */
import { Socket } from 'node:net';
import { AV_LOG_QUIET } from 'node-av/constants';
import { FFmpegError, Filter, type FilterContext, FilterGraph, Log } from 'node-av/lib';
import { systemClock } from '#lib/clock.ts';
import type { RenditionId } from '#media/session-event.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { ENCODERS } from '#transcode/encoders.ts';
import { ignoreServersSignals } from '#transcode/ignored-signals.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import { encodeConfig, encodeMedia } from '#transcode/test-picture-frames.ts';
import { AudioEncoder, BLOCK_SAMPLES } from './audio-encoder.ts';
import { emptyFrame } from './av.ts';
import { VideoEncoder } from './video-encoder.ts';

const CONNECTION_FD = 3;
const FRAME_RATE = 30;
const KEYFRAME_EVERY = 2 * FRAME_RATE;
const SAMPLE_RATE = 48_000;
const TONE_HZ = 440;
/** The volume of the tone between beeps and in them. 1 is the loudest. */
const VOLUME = { tone: 0.02, beep: 0.12 } as const;
const BEEP_S = 0.1;
/** How often frames that are due are made. It is shorter than a frame. */
const PACE_MS = 15;
/** The most bytes that wait for the reader. With more, the reader is taken for dead, and the process ends. */
const MAX_QUEUED_BYTES = 8 * 1024 * 1024;
const PLAN: RenditionPlan = {
  id: 'test' as RenditionId,
  profile: 'test',
  width: 1280,
  height: 720,
  frameRate: { num: FRAME_RATE, den: 1 },
  bitrateBps: 1_500_000,
  peakBitrateBps: 3_000_000,
  bufferBits: 1_500_000,
  quality: undefined,
  keyframes: { type: 'cuts' },
  h264Profile: 'H264ConstrainedHigh',
};

ignoreServersSignals();
Log.setLevel(AV_LOG_QUIET);

const connection = new Socket({ fd: CONNECTION_FD, readable: true, writable: true });
connection.on('error', () => connection.destroy());
// Without the timer, nothing keeps the process alive.
connection.on('close', () => clearInterval(pacer));
connection.once('data', begin);

const send = (pieces: readonly Uint8Array[]): void => {
  if (connection.writableLength > MAX_QUEUED_BYTES) connection.destroy();
  if (connection.destroyed) return;
  for (const piece of pieces) connection.write(piece);
};

/** Opens FFmpeg's pattern and gives the end from which its frames are taken. */
function openPattern(): { readonly graph: FilterGraph; readonly sink: FilterContext } {
  const graph = new FilterGraph();
  graph.alloc();
  const create = (name: string, args?: string): FilterContext => {
    const filter = Filter.getByName(name);
    const context = filter === null ? null : graph.createFilter(filter, name, args ?? null);
    if (context === null) throw new Error(`this FFmpeg has no ${name}`);
    return context;
  };
  const source = create('testsrc2', `size=${PLAN.width}x${PLAN.height}:rate=${FRAME_RATE}`);
  const format = create('format', 'pix_fmts=yuv420p');
  const sink = create('buffersink');
  FFmpegError.throwIfError(source.link(0, format, 0), 'link');
  FFmpegError.throwIfError(format.link(0, sink, 0), 'link');
  FFmpegError.throwIfError(graph.configSync(), 'test pattern');
  return { graph, sink };
}

const pattern = openPattern();
const frame = emptyFrame();
let video: VideoEncoder | undefined;
let frames = 0;

function nextFrame(): void {
  FFmpegError.throwIfError(pattern.sink.buffersinkGetFrameSync(frame), 'test pattern');
  if (video === undefined) {
    const settings = { preset: 'ultrafast', threads: 1, framesPerSecond: FRAME_RATE };
    video = new VideoEncoder(ENCODERS[0], { plan: PLAN, settings, first: frame }, (encoded) =>
      send(encodeMedia('video', encoded)),
    );
    send(encodeConfig('videoConfig', video.config));
  }
  const pts = (frames * VIDEO_TIMESCALE) / FRAME_RATE;
  video.encode(frame, pts, frames % KEYFRAME_EVERY === 0 ? 'keyframe' : 'take');
  frame.unref();
  frames += 1;
}

const audio = new AudioEncoder({ channels: 2, sampleRate: SAMPLE_RATE }, ({ pts, data }) => {
  // The first packet lies before the start by its length.
  if (pts >= 0) send(encodeMedia('audio', { pts, dts: pts, keyframe: true, data }));
});
let samples = 0;
let pacer: NodeJS.Timeout | undefined;

function nextBlock(): void {
  const block = Float32Array.from({ length: BLOCK_SAMPLES }, (_, index) => {
    const atS = (samples + index) / SAMPLE_RATE;
    const volume = atS % 1 < BEEP_S ? VOLUME.beep : VOLUME.tone;
    return Math.sin(2 * Math.PI * TONE_HZ * atS) * volume;
  });
  audio.encode([block, block], samples);
  samples += BLOCK_SAMPLES;
}

function begin(): void {
  send(encodeConfig('audioConfig', audio.config));
  const startedAt = systemClock.monotonic();
  pacer = setInterval(() => {
    const elapsedS = (systemClock.monotonic() - startedAt) / 1000;
    connection.cork();
    while (frames / FRAME_RATE <= elapsedS) nextFrame();
    while (samples / SAMPLE_RATE <= elapsedS) nextBlock();
    connection.uncork();
  }, PACE_MS);
}
