/**
 * H.265 in ISO BMFF: the `hvcC` configuration record, access units, and the `hvc1` sample entry (ISO/IEC 14496-15 §8).
 */
import { InBandSets, parsed } from '#media/in-band-sets.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import type { Piece } from '#media/mp4/box.ts';
import { visitNalUnits, withLengths } from '#media/nal.ts';
import { VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import type { UnitContent } from '#media/unit-content.ts';
import { type ProfileTierLevel, parseH265Sps } from './h265-sps.ts';
import { displayWidth, videoRangeOf, videoSampleEntry } from './video-sample-entry.ts';

/** The longest record that is read. Those of encoders have less than 300 bytes. */
const MAX_CONFIG_BYTES = 16_384;
/** Bytes before the arrays of parameter sets. */
const HEADER_BYTES = 23;
const LENGTH_SIZE_AT = 21;
const ARRAY_COMPLETE = 0x80;

const NAL_VPS = 32;
const NAL_SPS = 33;
const NAL_PPS = 34;
const PARAMETER_SETS: ReadonlySet<number> = new Set([NAL_VPS, NAL_SPS, NAL_PPS]);
/** Types of pictures at which a decoder can start: IDR, CRA and BLA, and the types reserved for more of them (ITU-T H.265 Table 7-1). */
const FIRST_RANDOM_ACCESS = 16;
const LAST_RANDOM_ACCESS = 23;
/** The last type of slices, reserved types included. */
const LAST_SLICE = 31;

/**
 * Reads an HEVCDecoderConfigurationRecord, the body of `hvcC`, into a track. The bytes are copied. The first SPS describes the track. The
 * others are checked as well, because a decoder may use any of them.
 * @throws {InvalidCodecConfigError} when it is broken, lacks a VPS, SPS or PPS, has several layers, or states too large a frame
 */
export function parseHevcConfig(config: Uint8Array): VideoTrack {
  const sps = parseH265Sps(firstSps(config));
  for (const { nal } of parameterSets(config)) if (isParameterSet(nal)) checkSet(nal);
  return {
    kind: 'video',
    codec: 'h265',
    timescale: VIDEO_TIMESCALE,
    config: new Uint8Array(config),
    codecString: codecString(sps.profile),
    width: displayWidth(sps.codedWidth, sps.sampleAspectRatio),
    height: sps.codedHeight,
    codedWidth: sps.codedWidth,
    codedHeight: sps.codedHeight,
    declaredFrameRate: sps.frameRate,
    videoRange: videoRangeOf(sps.colour),
    reorderedFrames: sps.reorderedFrames,
  };
}

/**
 * Makes a reader for the access units of a track, which must be given in their order. It returns what is in each. A decoder can start at
 * an access unit with an IRAP picture. The reader checks the whole unit down to its NAL units, and every parameter set in it as strictly as
 * one in the configuration. An SPS of another size than the configuration's is kept: decoders follow it.
 *
 * The reader throws {@link MalformedAccessUnitError} when the lengths of NAL units do not fit the unit, or a parameter set is not
 * acceptable.
 */
export function hevcUnitReader(track: VideoTrack): (data: Uint8Array) => UnitContent {
  const lengthSize = (track.config[LENGTH_SIZE_AT]! & 3) + 1;
  const sets = new InBandSets(checkSet);
  return (data) => {
    sets.unit(data.length);
    let keyframe = false;
    let empty = true;
    visitNalUnits(data, lengthSize, (start, end) => {
      const type = typeIn(data[start]!);
      if (type === NAL_SPS) sets.read(data.subarray(start, end));
      else if (PARAMETER_SETS.has(type)) parsed(() => checkSet(data.subarray(start, end)));
      if (type > LAST_SLICE) return;
      keyframe ||= type >= FIRST_RANDOM_ACCESS && type <= LAST_RANDOM_ACCESS;
      empty = false;
    });
    return { keyframe, empty };
  };
}

/**
 * The parameter sets of a configuration, as an access unit may begin with them.
 * @throws {InvalidCodecConfigError} as {@link parseHevcConfig}
 */
export function hevcSetsInBand(config: Uint8Array): Uint8Array {
  const sets = [...parameterSets(config)].filter(({ nal }) => isParameterSet(nal));
  return withLengths(
    sets.map(({ nal }) => nal),
    (config[LENGTH_SIZE_AT]! & 3) + 1,
  );
}

/** The `hvc1` sample entry of a track. */
export function hevcSampleEntry(track: VideoTrack): Piece {
  const boxes = { entry: 'hvc1', configuration: 'hvcC' };
  return videoSampleEntry(boxes, track, withCompleteArrays(track.config), parseH265Sps(firstSps(track.config)));
}

/** The codec string (RFC 6381, ISO/IEC 14496-15 §E.3), for example `hvc1.1.6.L93.B0`. */
function codecString({ profileSpace, profileIdc, compatibility, highTier, levelIdc, constraints }: ProfileTierLevel) {
  const space = ['', 'A', 'B', 'C'][profileSpace];
  // Trailing zero bytes are left out.
  const flags = constraints.slice(0, constraints.findLastIndex((byte) => byte !== 0) + 1);
  return [
    'hvc1',
    `${space}${profileIdc}`,
    hex(reverseBits(compatibility)),
    `${highTier ? 'H' : 'L'}${levelIdc}`,
    ...flags.map(hex),
  ].join('.');
}

/** Marks every array as complete: `hvc1` promises that no parameter sets come in band (§8.4.2), and each array must state it as well. */
function withCompleteArrays(config: Uint8Array): Uint8Array {
  const complete = new Uint8Array(config);
  for (const { at, type } of parameterSets(config)) {
    if (PARAMETER_SETS.has(type)) complete[at]! |= ARRAY_COMPLETE;
  }
  return complete;
}

/**
 * Walks the whole record, and returns its first SPS.
 * @throws {InvalidCodecConfigError} when any length runs past the end or a kind of parameter set is missing
 */
function firstSps(config: Uint8Array): Uint8Array {
  if (config.length > MAX_CONFIG_BYTES) {
    throw new InvalidCodecConfigError(
      `The hvcC record has ${config.length} bytes; at most ${MAX_CONFIG_BYTES} are allowed.`,
    );
  }
  if (config.length < HEADER_BYTES) {
    throw new InvalidCodecConfigError(`The hvcC record has only ${config.length} bytes.`);
  }
  if (config[0] !== 1) {
    throw new InvalidCodecConfigError(`The hvcC record has version ${config[0]}; only 1 is supported.`);
  }
  if ((config[LENGTH_SIZE_AT]! & 3) === 2) {
    throw new InvalidCodecConfigError('The hvcC record states NAL unit lengths of 3 bytes.');
  }
  const sets = [...parameterSets(config)];
  for (const [type, name] of [
    [NAL_VPS, 'a VPS'],
    [NAL_PPS, 'a PPS'],
  ] as const) {
    if (!sets.some((set) => set.type === type)) {
      throw new InvalidCodecConfigError(`The hvcC record does not hold ${name}.`);
    }
  }
  const sps = sets.find(({ type }) => type === NAL_SPS);
  if (sps === undefined) throw new InvalidCodecConfigError('The hvcC record does not hold an SPS.');
  return sps.nal;
}

interface ParameterSet {
  /** The type that its array states. */
  readonly type: number;
  readonly nal: Uint8Array;
  /** Where its array begins in the record. */
  readonly at: number;
}

/** Yields every parameter set of a record, array by array. @throws {InvalidCodecConfigError} when one is empty or truncated */
function* parameterSets(config: Uint8Array): Generator<ParameterSet, void, undefined> {
  let end = HEADER_BYTES;
  for (let array = 0; array < config[HEADER_BYTES - 1]!; array++) {
    const at = end;
    const type = (config[at] ?? 0) & 0x3f;
    const count = uint16(config, at + 1);
    end += 3;
    for (let index = 0; index < count; index++) {
      const from = end + 2;
      end = from + uint16(config, end);
      if (end === from) throw new InvalidCodecConfigError('The hvcC record holds an empty parameter set.');
      if (end > config.length) throw truncatedRecord();
      yield { type, nal: config.subarray(from, end), at };
    }
  }
}

function uint16(config: Uint8Array, at: number): number {
  if (at + 2 > config.length) throw truncatedRecord();
  return (config[at]! << 8) | config[at + 1]!;
}

function truncatedRecord(): InvalidCodecConfigError {
  return new InvalidCodecConfigError('The hvcC record ends in the middle of a parameter set.');
}

/**
 * Checks a parameter set of the configuration or of an access unit. In the base layer only an SPS states a size. Other layers, which may
 * state theirs in several sets, are refused: no player shows them.
 * @throws {InvalidCodecConfigError} when the set belongs to another layer, or is an SPS that is not acceptable
 */
function checkSet(nal: Uint8Array): void {
  const layer = ((nal[0]! & 1) << 5) | ((nal[1] ?? 0) >> 3);
  if (layer > 0) {
    throw new InvalidCodecConfigError(
      'The HEVC video has several layers. Set the encoder to ordinary video of one layer.',
    );
  }
  if (nalType(nal) === NAL_SPS) parseH265Sps(nal);
}

const isParameterSet = (nal: Uint8Array): boolean => PARAMETER_SETS.has(nalType(nal));

const nalType = (nal: Uint8Array): number => typeIn(nal[0]!);

/** The type of a NAL unit, from its first byte. */
const typeIn = (first: number): number => (first >> 1) & 0x3f;

const hex = (value: number): string => value.toString(16).toUpperCase();

/** Reverses the order of 32 bits. */
function reverseBits(value: number): number {
  let reversed = 0;
  for (let bit = 0; bit < 32; bit++) reversed = reversed * 2 + ((value >>> bit) & 1);
  return reversed;
}
