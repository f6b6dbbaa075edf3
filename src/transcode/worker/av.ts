/**
 * Small steps every user of FFmpeg takes. This folder is the only part of Millrace that loads it, and only in a child process.
 *
 * Throughout, the synchronous low-level calls are used: measured at the CPU of the `ffmpeg` command, where node-av's asynchronous
 * high-level ones cost twice that.
 */
import { AV_CHANNEL_ORDER_NATIVE, AV_OPT_SEARCH_CHILDREN, AV_OPT_TYPE_STRING, AVERROR_ENOMEM } from 'node-av/constants';
import { type ChannelLayout, type CodecContext, FFmpegError, Frame, type SoftwareScaleContext } from 'node-av/lib';

/**
 * Sets FFmpeg options, all of them or none that matter: the object is of no use after a failure.
 * @throws {FFmpegError} that names the option
 */
export function setOptions(
  target: CodecContext | SoftwareScaleContext,
  options: Readonly<Record<string, string>>,
): void {
  // Not by a Dictionary: open2Sync frees it and node-av 6.1's finalizer frees it again.
  for (const [name, value] of Object.entries(options)) {
    FFmpegError.throwIfError(target.setOption(name, value, AV_OPT_TYPE_STRING, AV_OPT_SEARCH_CHILDREN), name);
  }
}

/** Whether an error says that FFmpeg was refused memory. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof FFmpegError && error.code === AVERROR_ENOMEM;
}

/** A frame without a picture. */
export function emptyFrame(): Frame {
  const frame = new Frame();
  frame.alloc();
  return frame;
}

/** Which speakers: the centre, or left and right. */
const SPEAKERS = { 1: 4n, 2: 3n } as const;

/** FFmpeg's description of mono and stereo. */
export function channelLayout(channels: 1 | 2): ChannelLayout {
  return { nbChannels: channels, order: AV_CHANNEL_ORDER_NATIVE, mask: SPEAKERS[channels] };
}
