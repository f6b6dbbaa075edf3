/**
 * Opus: the identification header (RFC 7845 §5.1), the length of packets (RFC 6716 §3.1), and the `Opus` sample entry
 * (Encapsulation of Opus in ISO Base Media File Format §4.3).
 */
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { box, bytes, type Piece, u8, u16, u32, zeros } from '#media/mp4/box.ts';
import type { AudioTrack } from '#media/track.ts';

/** The rate at which Opus is decoded and its time is counted, whatever the rate of its source. */
const SAMPLE_RATE = 48_000;
/** 20 ms, the packet duration of nearly every encoder. */
const USUAL_SAMPLES = 960;
/** 120 ms, the longest packet (RFC 6716 §3.2.5). */
const MAX_SAMPLES = 5760;

const MAGIC = Buffer.from('OpusHead');
/** Bytes of a header through the channel mapping family. */
const HEAD_BYTES = 19;
/** The longest header that is read. Those of encoders have less than 30 bytes. */
const MAX_CONFIG_BYTES = 512;
/** The most channels by mapping family: mono and stereo without a table, up to eight channels with one (RFC 7845 §5.1.1). */
const MAX_CHANNELS = [2, 8] as const;

/**
 * Reads an identification header into a track. The bytes are copied.
 * @throws {InvalidCodecConfigError} when it is broken, or has a channel mapping without defined speakers
 */
export function parseOpusHead(config: Uint8Array): AudioTrack {
  if (config.length > MAX_CONFIG_BYTES) {
    throw new InvalidCodecConfigError(
      `The Opus header has ${config.length} bytes; at most ${MAX_CONFIG_BYTES} are allowed.`,
    );
  }
  const head = Buffer.from(config);
  if (head.length < HEAD_BYTES || !head.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new InvalidCodecConfigError(
      `The Opus header of ${head.length} bytes is too short, or does not begin with OpusHead.`,
    );
  }
  // Higher minor versions are compatible by definition.
  if (head[8]! >> 4 !== 0) throw new InvalidCodecConfigError(`The Opus header has the unknown version ${head[8]}.`);
  const channels = head[9]!;
  const family = head[18]!;
  const maxChannels = MAX_CHANNELS[family];
  if (maxChannels === undefined || channels < 1 || channels > maxChannels) {
    throw new InvalidCodecConfigError(
      `The Opus header states ${channels} channels of mapping family ${family}; send mono, stereo or surround sound.`,
    );
  }
  if (head.length < HEAD_BYTES + mappingBytes(family, channels)) {
    throw new InvalidCodecConfigError('The Opus header ends within its channel mapping.');
  }
  return {
    kind: 'audio',
    codec: 'opus',
    timescale: SAMPLE_RATE,
    config: new Uint8Array(head),
    codecString: 'Opus',
    sampleRate: SAMPLE_RATE,
    channels,
    samplesPerPacket: USUAL_SAMPLES,
  };
}

/**
 * Returns how many samples a packet decodes to, at 48 kHz.
 * @throws {MalformedAccessUnitError} when it is empty, or states no frames or more than 120 ms
 */
export function opusSamples(packet: Uint8Array): number {
  const [toc, second] = packet;
  if (toc === undefined) throw new MalformedAccessUnitError('An Opus packet is empty.');
  const frames = [1, 2, 2, (second ?? 0) & 0x3f][toc & 3]!;
  const samples = frames * frameSamples(toc >> 3);
  if (samples === 0 || samples > MAX_SAMPLES) {
    throw new MalformedAccessUnitError(`An Opus packet states ${frames} frames, ${samples} samples in all.`);
  }
  return samples;
}

/** The `Opus` sample entry of a track. */
export function opusSampleEntry(track: AudioTrack): Piece {
  const head = Buffer.from(track.config);
  return box(
    'Opus',
    zeros(6),
    u16(1), // data_reference_index
    zeros(8),
    u16(track.channels, 16), // channelcount, samplesize
    zeros(4),
    u16(SAMPLE_RATE, 0),
    // The header again, big-endian and with its own version.
    box(
      'dOps',
      u8(0, track.channels),
      u16(head.readUInt16LE(10)), // pre-skip
      u32(head.readUInt32LE(12)), // the rate before encoding
      u16(head.readUInt16LE(16)), // output gain
      bytes(head.subarray(HEAD_BYTES - 1, HEAD_BYTES + mappingBytes(head[18]!, track.channels))), // channel mapping
    ),
  );
}

/** The size of the channel mapping table (RFC 7845 §5.1.1). */
function mappingBytes(family: number, channels: number): number {
  return family === 0 ? 0 : 2 + channels;
}

/** Samples of one frame (RFC 6716 Table 2). SILK, hybrid and CELT have different frame sizes. */
function frameSamples(configuration: number): number {
  if (configuration < 12) return [480, 960, 1920, 2880][configuration & 3]!;
  if (configuration < 16) return [480, 960][configuration & 1]!;
  return [120, 240, 480, 960][configuration & 3]!;
}
