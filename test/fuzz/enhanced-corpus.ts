/**
 * Extended audio and video tags of Enhanced RTMP, made from recorded media.
 */
import { CONFIGS, UNITS } from './recorded.ts';

const enhanced = (first: number, fourCc: string, ...rest: readonly Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.of(first), Buffer.from(fourCc), ...rest]);

/** Configurations and frames of every video codec. */
export const ENHANCED_VIDEO: readonly Buffer[] = [
  enhanced(0x90, 'hvc1', CONFIGS.h265[0]!),
  enhanced(0x91, 'hvc1', Buffer.of(0, 0, 40), UNITS.h265[0]!),
  enhanced(0xa3, 'hvc1', UNITS.h265[1]!),
  enhanced(0x90, 'av01', CONFIGS.av1[0]!),
  enhanced(0x91, 'av01', UNITS.av1[0]!),
  enhanced(0xa1, 'av01', UNITS.av1[1]!),
  enhanced(0x90, 'avc1', CONFIGS.h264[0]!),
  // A frame in a body of several tracks, and a frame with an offset in nanoseconds.
  Buffer.concat([Buffer.of(0x96, 0x01), Buffer.from('av01'), Buffer.of(0), UNITS.av1[1]!]),
  Buffer.concat([Buffer.of(0x97, 2, 0, 1, 2, 0x01), Buffer.from('av01'), UNITS.av1[1]!]),
];
/** Configurations and packets of every audio codec. */
export const ENHANCED_AUDIO: readonly Buffer[] = [
  enhanced(0x90, 'Opus', CONFIGS.opus[0]!),
  enhanced(0x91, 'Opus', UNITS.opus[0]!),
  enhanced(0x90, 'mp4a', CONFIGS.aac[0]!),
  Buffer.concat([Buffer.of(0x95, 0x21), Buffer.from('Opus'), Buffer.of(0, 0, 0, 4, 0xfc, 1, 2, 3)]),
];

/** FourCCs, and the first byte of each kind of packet. */
export const ENHANCED_DICTIONARY: readonly (string | Uint8Array)[] = [
  'avc1',
  'hvc1',
  'av01',
  'mp4a',
  'Opus',
  ...[0x90, 0x91, 0x93, 0x95, 0x96, 0x97, 0xd4].map((first) => Uint8Array.of(first)),
];
