/**
 * AAC in ISO BMFF: the AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1) and the `mp4a` sample entry (ISO/IEC 14496-14 §5.6).
 */
import { BitReader } from '#media/bit-reader.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { box, bytes, fullBox, type Piece, sequence, u8, u16, u32, zeros } from '#media/mp4/box.ts';
import type { AudioTrack } from '#media/track.ts';

/** The longest configuration that is read. A program config element with every element and its comment takes less. */
const MAX_CONFIG_BYTES = 512;

const AOT_LC = 2;
const AOT_SBR = 5;
const AOT_PS = 29;

/** Sample rates by their index (Table 1.18). Indexes 13 and 14 are reserved. */
const SAMPLE_RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350] as const;
const EXPLICIT_SAMPLE_RATE = 15;
const [MAX_SAMPLE_RATE] = SAMPLE_RATES;
const MIN_SAMPLE_RATE = 7350;

/** Channels by channelConfiguration (Table 1.19). With 0, the program config element states them. Undefined ones are reserved. */
const CHANNELS = [0, 1, 2, 3, 4, 5, 6, 8, undefined, undefined, undefined, 7, 8, undefined, 8] as const;

/**
 * Reads an AudioSpecificConfig into a track. The bytes are copied.
 *
 * Accepts AAC-LC, and HE-AAC (v1, v2) with either explicit signalling of §1.6.5. `timescale` is the sample rate of the AAC-LC core, because
 * packets are counted in its frames. `sampleRate` and `channels` are those of a decoder's output.
 * @throws {InvalidCodecConfigError} when it is broken, or describes another kind of audio
 */
export function parseAudioSpecificConfig(config: Uint8Array): AudioTrack {
  if (config.length > MAX_CONFIG_BYTES) {
    throw new InvalidCodecConfigError(
      `The AudioSpecificConfig has ${config.length} bytes; at most ${MAX_CONFIG_BYTES} are allowed.`,
    );
  }
  const reader = new BitReader(config, 'AudioSpecificConfig');
  const outerType = readObjectType(reader);
  const coreRate = readSampleRate(reader);
  const channelConfiguration = reader.bits(4);
  const hierarchical = outerType === AOT_SBR || outerType === AOT_PS;
  const outerRate = hierarchical ? readSampleRate(reader) : undefined;
  const coreType = hierarchical ? readObjectType(reader) : outerType;
  if (coreType !== AOT_LC) {
    throw new InvalidCodecConfigError(`Audio object type ${coreType} is not supported; send AAC-LC or HE-AAC.`);
  }
  const { samplesPerPacket, channels } = readGeneralAudioConfig(reader, channelConfiguration);
  const extension: Extension =
    outerRate === undefined
      ? readSyncExtension(reader)
      : { sampleRate: outerRate, parametricStereo: outerType === AOT_PS };
  const { sampleRate = coreRate, parametricStereo } = extension;
  const objectType = parametricStereo ? AOT_PS : extension.sampleRate === undefined ? AOT_LC : AOT_SBR;
  return {
    kind: 'audio',
    codec: 'aac',
    timescale: coreRate,
    config: new Uint8Array(config),
    codecString: `mp4a.40.${objectType}`,
    sampleRate,
    channels: parametricStereo ? 2 : channels,
    samplesPerPacket,
  };
}

/** The `mp4a` sample entry of a track. */
export function aacSampleEntry(track: AudioTrack): Piece {
  return box(
    'mp4a',
    zeros(6),
    u16(1), // data_reference_index
    zeros(8),
    u16(track.channels, 16), // channelcount, samplesize
    zeros(4),
    // The field has 16 bits. A higher rate is left out, because the configuration states it.
    u16(track.timescale > 0xffff ? 0 : track.timescale, 0),
    fullBox('esds', 0, 0, elementaryStreamDescriptor(track.config)),
  );
}

/** The ES_Descriptor (ISO/IEC 14496-1 §7.2.6.5), with the fixed values of ISO/IEC 14496-14 §3.1.2. */
function elementaryStreamDescriptor(config: Uint8Array): Piece {
  const decoderConfig = descriptor(
    0x04,
    u8(0x40, 0x15, 0, 0, 0), // MPEG-4 audio, an audio stream, no buffer size stated
    u32(0, 0), // no bitrates stated
    descriptor(0x05, bytes(config)),
  );
  return descriptor(0x03, u16(0), u8(0), decoderConfig, descriptor(0x06, u8(2)));
}

/** A descriptor: its tag, its size in two groups of seven bits (ISO/IEC 14496-1 §8.3.3), and its body. */
function descriptor(tag: number, ...pieces: readonly Piece[]): Piece {
  const body = sequence(pieces);
  return sequence([u8(tag, 0x80 | (body.sizeBytes >> 7), body.sizeBytes & 0x7f), body]);
}

function readObjectType(reader: BitReader): number {
  const type = reader.bits(5);
  return type === 31 ? 32 + reader.bits(6) : type;
}

function readSampleRate(reader: BitReader): number {
  const index = reader.bits(4);
  const rate = index === EXPLICIT_SAMPLE_RATE ? reader.bits(24) : SAMPLE_RATES[index];
  if (rate === undefined)
    throw new InvalidCodecConfigError(`The AudioSpecificConfig uses the reserved sample rate ${index}.`);
  if (rate < MIN_SAMPLE_RATE || rate > MAX_SAMPLE_RATE) {
    throw new InvalidCodecConfigError(
      `The AudioSpecificConfig states a sample rate of ${rate} Hz; it must be from ${MIN_SAMPLE_RATE} to ${MAX_SAMPLE_RATE}.`,
    );
  }
  return rate;
}

/** Reads a GASpecificConfig of AAC-LC (§4.4.1). */
function readGeneralAudioConfig(reader: BitReader, channelConfiguration: number) {
  const samplesPerPacket = reader.flag() ? 960 : 1024;
  if (reader.flag()) reader.skip(14); // coreCoderDelay
  reader.skip(1); // extensionFlag: 0 for AAC-LC
  const channels = channelConfiguration === 0 ? readProgramChannels(reader) : CHANNELS[channelConfiguration];
  if (channels === undefined || channels === 0) {
    throw new InvalidCodecConfigError(
      `The AudioSpecificConfig states channel configuration ${channelConfiguration} without channels.`,
    );
  }
  return { samplesPerPacket, channels };
}

/** Reads a program_config_element (§4.4.1.1) and returns its channels: two for each element that is a pair, one for any other. */
function readProgramChannels(reader: BitReader): number {
  reader.skip(4 + 2 + 4); // element_instance_tag, object_type, sampling_frequency_index
  const frontElements = reader.bits(4);
  const sideElements = reader.bits(4);
  const backElements = reader.bits(4);
  const lowFrequencyElements = reader.bits(2);
  const associatedData = reader.bits(3);
  const couplingElements = reader.bits(4);
  if (reader.flag()) reader.skip(4); // mono_mixdown_element_number
  if (reader.flag()) reader.skip(4); // stereo_mixdown_element_number
  if (reader.flag()) reader.skip(3); // matrix_mixdown_idx, pseudo_surround_enable
  let channels = lowFrequencyElements;
  for (let element = 0; element < frontElements + sideElements + backElements; element++) {
    channels += reader.flag() ? 2 : 1;
    reader.skip(4); // element_tag_select
  }
  reader.skip(lowFrequencyElements * 4 + associatedData * 4 + couplingElements * 5);
  reader.align();
  reader.skip(reader.bits(8) * 8); // comment_field_data
  return channels;
}

interface Extension {
  /** The rate after spectral band replication. Undefined without it. */
  readonly sampleRate?: number;
  readonly parametricStereo: boolean;
}

/** Reads the backward-compatible signalling of HE-AAC, which follows the AAC-LC configuration after a sync word (§1.6.6.1). */
function readSyncExtension(reader: BitReader): Extension {
  const none: Extension = { parametricStereo: false };
  if (reader.remaining < 16 || reader.bits(11) !== 0x2b7 || readObjectType(reader) !== AOT_SBR || !reader.flag())
    return none;
  const sampleRate = readSampleRate(reader);
  const parametricStereo = reader.remaining >= 12 && reader.bits(11) === 0x548 && reader.flag();
  return { sampleRate, parametricStereo };
}
