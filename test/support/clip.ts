/**
 * Makes a few seconds of video in memory, as packets from ingest with a number in each frame, and reads the numbers of decoded frames. It
 * loads FFmpeg into the process, so it is for tests that do so anyway.
 */
import {
  AV_LOG_QUIET,
  AV_PIX_FMT_YUV420P,
  AVCOL_PRI_BT2020,
  AVCOL_SPC_BT2020_NCL,
  AVCOL_TRC_SMPTE2084,
} from 'node-av/constants';
import { FFmpegError, Frame, Log } from 'node-av/lib';
import { type Ticks, ticks } from '#lib/units.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import type { Packet } from '#media/packet.ts';
import { VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import { VideoDecoder } from '#transcode/worker/video-decoder.ts';
import { VideoEncoder } from '#transcode/worker/video-encoder.ts';
import { type FrameCode, readFrameCode } from './frame-code.ts';
import { drawPicture, type PicturePlanes } from './test-pattern.ts';
import { markAt, VIDEO_TRACK } from './tracks.ts';

Log.setLevel(AV_LOG_QUIET);

/** Which video {@link makeClip} makes. The default is 2 s of 640x360 at 30 frames per second with a keyframe every second. */
export interface ClipOptions {
  /** At least 320. */
  readonly width?: number;
  readonly height?: number;
  readonly frames?: number;
  readonly framesPerSecond?: number;
  /** Frames between keyframes. */
  readonly gop?: number;
  readonly bFrames?: number;
  /** H.265 with open GOPs: frames shown before a keyframe follow it. */
  readonly openGop?: boolean;
  /** Whether each frame has two fields. */
  readonly interlaced?: boolean;
  /** Whether it declares a high dynamic range (PQ). */
  readonly isPq?: boolean;
  /** The presentation time of each frame, in ticks. By default, frames follow each other at the frame rate. */
  readonly ptsOf?: (frame: number) => number;
}

/** A track and its packets in decoding order, without segment marks. */
export interface Clip {
  readonly track: VideoTrack;
  readonly packets: readonly Packet[];
}

/** Draws and encodes a clip. */
export function makeClip(options: ClipOptions = {}): Clip {
  const {
    width = 640,
    height = 360,
    frames = 60,
    framesPerSecond = 30,
    gop = 30,
    bFrames = 0,
    openGop = false,
    interlaced = false,
    isPq = false,
  } = options;
  const ptsOf = options.ptsOf ?? ((index) => Math.round((index * VIDEO_TIMESCALE) / framesPerSecond));
  const frame = new Frame();
  frame.alloc();
  frame.width = width;
  frame.height = height;
  frame.format = AV_PIX_FMT_YUV420P;
  if (isPq) {
    frame.colorSpace = AVCOL_SPC_BT2020_NCL;
    frame.colorPrimaries = AVCOL_PRI_BT2020;
    frame.colorTrc = AVCOL_TRC_SMPTE2084;
  }
  FFmpegError.throwIfError(frame.getBuffer(), 'frame memory');
  const packets: Packet[] = [];
  const structure = `scenecut=0:bframes=${bFrames}:b-adapt=0`;
  const common = { preset: 'ultrafast', threads: '1', crf: '20', 'forced-idr': '1' };
  const closed = {
    ...common,
    'x264-params': `annexb=0:keyint=infinite:open-gop=0:${structure}${interlaced ? ':tff=1' : ''}`,
  };
  const open = { ...common, 'x265-params': `keyint=${gop}:open-gop=1:pools=none:log-level=none:${structure}` };
  const description = openGop ? { name: 'libx265', options: () => open } : { name: 'libx264', options: () => closed };
  const plan = { width, height } as RenditionPlan;
  const settings = { preset: 'ultrafast', threads: 1, framesPerSecond };
  // FLV has no negative times, so an encoder with B-frames delays the presentation of all frames a little.
  const delay = bFrames * 2 * Math.round(VIDEO_TIMESCALE / framesPerSecond);
  using encoder = new VideoEncoder(description, { plan, settings, first: frame }, ({ pts, dts, keyframe, data }) => {
    packets.push({ kind: 'video', pts: ticks(pts + delay), dts: ticks(dts + delay), keyframe, data });
  });
  for (let index = 0; index < frames; index += 1) {
    FFmpegError.throwIfError(frame.makeWritable(), 'frame memory');
    const planes = frame.data as unknown as PicturePlanes['planes'];
    const lineStrides = frame.linesize as unknown as PicturePlanes['lineStrides'];
    drawPicture({ width, height, planes, lineStrides }, index / framesPerSecond, { counter: index, drawnAtMs: 0 });
    encoder.encode(frame, ptsOf(index), !openGop && index % gop === 0 ? 'keyframe' : 'take');
  }
  encoder.finish();
  frame.free();
  if (!openGop) return { track: parseAvcConfig(encoder.config), packets };
  const track = { ...VIDEO_TRACK, codec: 'h265', config: encoder.config, width, height } as const;
  return { track: { ...track, codedWidth: width, codedHeight: height }, packets };
}

/** The packets, with a segment mark on each packet that `cutAt` selects. */
export function marked(packets: readonly Packet[], cutAt: (packet: Packet, index: number) => boolean): Packet[] {
  let ordinal = 0;
  return packets.map((packet, index) => {
    if (!cutAt(packet, index)) return packet;
    return { ...packet, mark: markAt(ordinal++, { independent: packet.keyframe }) };
  });
}

/** The packets with later times. */
export function later(packets: readonly Packet[], by: number): Packet[] {
  const move = (time: Ticks) => ticks(time + by);
  return packets.map((packet) => ({ ...packet, pts: move(packet.pts), dts: move(packet.dts) }));
}

/** A frame as a player would show it. */
export interface Shown {
  readonly pts: number;
  readonly width: number;
  readonly height: number;
  /** Undefined when the code cannot be read. */
  readonly code: FrameCode | undefined;
}

/** Decodes H.264 packets, in presentation order. */
export function show(config: Uint8Array, packets: readonly Packet[]): readonly Shown[] {
  const shown: Shown[] = [];
  using decoder = new VideoDecoder({ codec: 'h264', config }, ({ pts, width, height, data, linesize }) => {
    const pixels = { data: data![0]!, width, lineStride: linesize[0]!, pixelStride: 1 };
    shown.push({ pts: Number(pts), width, height, code: readFrameCode(pixels) });
  });
  for (const packet of packets) decoder.decode(packet);
  decoder.finish();
  return shown;
}
