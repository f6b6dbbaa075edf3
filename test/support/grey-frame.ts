/**
 * Frames of one shade of grey. This file loads FFmpeg into the process, so it is for tests that do so anyway.
 */
import { AV_PIX_FMT_YUV420P10LE, AVCOL_PRI_BT2020, AVCOL_RANGE_MPEG, AVCOL_SPC_BT2020_NCL } from 'node-av/constants';
import { FFmpegError, type Frame } from 'node-av/lib';
import { emptyFrame } from '#transcode/worker/av.ts';

/** A frame of 320x180 and 10 bits, in the colours of BT.2020. @param luma from 64 (black) to 940 */
export function grey(luma: number, colorTrc: Frame['colorTrc']): Frame {
  const frame = emptyFrame();
  frame.width = 320;
  frame.height = 180;
  frame.format = AV_PIX_FMT_YUV420P10LE;
  frame.colorRange = AVCOL_RANGE_MPEG;
  frame.colorSpace = AVCOL_SPC_BT2020_NCL;
  frame.colorPrimaries = AVCOL_PRI_BT2020;
  frame.colorTrc = colorTrc;
  FFmpegError.throwIfError(frame.getBuffer(), 'memory');
  for (const [plane, bytes] of frame.data!.entries()) {
    for (let at = 0; at + 1 < bytes.length; at += 2) bytes.writeUInt16LE(plane === 0 ? luma : 512, at);
  }
  return frame;
}
