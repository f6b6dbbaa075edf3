/**
 * onMetaData: what an encoder says of its media before it sends any. Believed only as far as it goes: which tracks will
 * come, roughly how big they are, and how many frames a second.
 */
import type { Announcement } from '#ingest/ingest.ts';
import { believableRate } from '#media/frame-rate.ts';
import type { TrackKind } from '#media/track.ts';
import type { AmfValue } from './amf0.ts';

/** Faster than any encoder: a rate beyond it is a mistake. */
const MAX_RATE_KBPS = 1_000_000;
/** Of an encoder's name, in characters. */
const MAX_NAME = 256;

/** What it says. */
export interface Metadata {
  readonly announcement: Announcement;
  /** Frames per second; undefined when it is not claimed, or not believable. */
  readonly videoFrameRate: number | undefined;
}

/**
 * Reads the values of a data message.
 * @returns undefined when it is not onMetaData, or names no track
 */
export function readMetadata(values: readonly AmfValue[]): Metadata | undefined {
  // Publishers wrap it: @setDataFrame, "onMetaData", {...}.
  const [name, properties] = values[0] === '@setDataFrame' ? values.slice(1) : values;
  if (name !== 'onMetaData' || !(properties instanceof Map)) return undefined;
  const kinds = new Set<TrackKind>();
  if (isCodec(properties.get('videocodecid'))) kinds.add('video');
  if (isCodec(properties.get('audiocodecid'))) kinds.add('audio');
  if (kinds.size === 0) return undefined;
  return {
    announcement: {
      kinds,
      videoBitrateBps: bitrateBps(properties.get('videodatarate')),
      audioBitrateBps: bitrateBps(properties.get('audiodatarate')),
      encoder: encoderName(properties.get('encoder')),
    },
    videoFrameRate: frameRate(properties.get('framerate')),
  };
}

/** FLV's number, a FourCC as a number, or a name (`avc1`, old OBS). Encoders without a track leave it out or say 0. */
function isCodec(value: AmfValue): boolean {
  return (typeof value === 'number' && value > 0) || (typeof value === 'string' && value !== '');
}

function encoderName(value: AmfValue): string | undefined {
  if (typeof value !== 'string') return undefined;
  // Shortened first, so that a name of 64 kB is not searched to its end.
  const printable = value
    .slice(0, 4 * MAX_NAME)
    .replaceAll(/\p{C}/gu, '')
    .trim();
  return printable === '' ? undefined : Array.from(printable).slice(0, MAX_NAME).join('');
}

function frameRate(value: AmfValue): number | undefined {
  return typeof value === 'number' ? believableRate(value) : undefined;
}

function bitrateBps(kbps: AmfValue): number | undefined {
  return typeof kbps === 'number' && kbps >= 1 && kbps <= MAX_RATE_KBPS ? Math.round(kbps * 1000) : undefined;
}
