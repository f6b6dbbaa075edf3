/**
 * Reads onMetaData, with which an encoder describes its media before it sends any: which tracks it will send, their approximate bitrates, and
 * the frame rate. Nothing else of it is used.
 */
import type { Announcement } from '#ingest/ingest.ts';
import { believableRate } from '#media/frame-rate.ts';
import type { AmfValue } from '#media/rtmp/amf0.ts';
import type { TrackKind } from '#media/track.ts';

/** A bitrate that no encoder reaches. A higher one is a mistake. */
const MAX_RATE_KBPS = 1_000_000;
/** The longest name of an encoder, in characters. */
const MAX_NAME = 256;

/** The content of onMetaData. */
export interface Metadata {
  readonly announcement: Announcement;
  /** Frames per second. Undefined when the encoder gives none, or an implausible number. */
  readonly videoFrameRate: number | undefined;
}

/**
 * Reads the values of a data message.
 * @returns undefined when the message is not onMetaData, or declares no track
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

/** FLV's number, a FourCC as a number, or a name (`avc1` from old versions of OBS). Encoders without the track omit it or send 0. */
function isCodec(value: AmfValue): boolean {
  return (typeof value === 'number' && value > 0) || (typeof value === 'string' && value !== '');
}

function encoderName(value: AmfValue): string | undefined {
  if (typeof value !== 'string') return undefined;
  // Truncated first, so that a name of 64 kB is not searched to its end.
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
