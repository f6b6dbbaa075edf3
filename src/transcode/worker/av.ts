/**
 * Helpers for calls to FFmpeg. This folder is the only part of Millrace that loads it, and only in a child process.
 *
 * The synchronous low-level calls are used everywhere. They were measured to need the CPU time of the `ffmpeg` command, while the
 * asynchronous high-level calls of node-av need twice that.
 */
import { AV_CHANNEL_ORDER_NATIVE, AV_OPT_SEARCH_CHILDREN, AV_OPT_TYPE_STRING, AVERROR_ENOMEM } from 'node-av/constants';
import { type ChannelLayout, type CodecContext, FFmpegError, Frame, type SoftwareScaleContext } from 'node-av/lib';

/**
 * Sets FFmpeg options. After a failure the object must not be used.
 * @throws {FFmpegError} an error that names the option
 */
export function setOptions(
  target: CodecContext | SoftwareScaleContext,
  options: Readonly<Record<string, string>>,
): void {
  // A Dictionary is not used, because open2Sync frees it and the finalizer of node-av 6.1 frees it again.
  for (const [name, value] of Object.entries(options)) {
    FFmpegError.throwIfError(target.setOption(name, value, AV_OPT_TYPE_STRING, AV_OPT_SEARCH_CHILDREN), name);
  }
}

/** Whether an error means that FFmpeg could not allocate memory. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof FFmpegError && error.code === AVERROR_ENOMEM;
}

/** Whether FFmpeg refused something, other than for lack of memory. */
export function isFfmpegRefusal(error: unknown): boolean {
  return error instanceof FFmpegError && !isOutOfMemory(error);
}

/** Makes a frame without data. */
export function emptyFrame(): Frame {
  const frame = new Frame();
  frame.alloc();
  return frame;
}

/** The bits of the speaker positions: the centre, or left and right. */
const SPEAKERS = { 1: 4n, 2: 3n } as const;

/** FFmpeg's description of mono and stereo. */
export function channelLayout(channels: 1 | 2): ChannelLayout {
  return { nbChannels: channels, order: AV_CHANNEL_ORDER_NATIVE, mask: SPEAKERS[channels] };
}
