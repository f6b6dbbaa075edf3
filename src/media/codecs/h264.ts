/**
 * H.264 in ISO BMFF: the `avcC` configuration record, access units, and the `avc1` sample entry (ISO/IEC 14496-15 §5).
 */
import { InBandSets } from '#media/in-band-sets.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import type { Piece } from '#media/mp4/box.ts';
import { visitNalUnits, withLengths } from '#media/nal.ts';
import { VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import type { UnitContent } from '#media/unit-content.ts';
import { parseH264Sps } from './h264-sps.ts';
import { displayWidth, videoRangeOf, videoSampleEntry } from './video-sample-entry.ts';

/** The longest record that is read. Those of encoders have less than 100 bytes. */
const MAX_CONFIG_BYTES = 16_384;

/** Types of NAL units (ITU-T H.264 Table 7-1). From the first slice to that of an IDR picture, all are slices or partitions of slices. */
const FIRST_SLICE = 1;
const NAL_IDR = 5;
const NAL_SPS = 7;
const NAL_PPS = 8;
/** The bits of a NAL unit's first byte that hold its type (§7.3.1). */
const TYPE_BITS = 0x1f;

/**
 * Reads an AVCDecoderConfigurationRecord, the body of `avcC`, into a track. The bytes are copied. The first SPS describes the track. The
 * others are checked as well, because a decoder may use any of them.
 *
 * Profiles beyond High (10 bit, 4:2:2) are accepted: a player can refuse them by their `codecString`.
 * @throws {InvalidCodecConfigError} when it is broken, lacks an SPS or PPS, or states too large a frame
 */
export function parseAvcConfig(config: Uint8Array): VideoTrack {
  const { first, others } = parameterSets(config);
  const sps = parseH264Sps(first);
  for (const set of others) if (nalType(set) === NAL_SPS) parseH264Sps(set);
  const { codedWidth, codedHeight } = sps;
  const codecString = `avc1.${[sps.profileIdc, sps.constraints, sps.levelIdc].map(hexByte).join('')}`;
  return {
    kind: 'video',
    codec: 'h264',
    timescale: VIDEO_TIMESCALE,
    config: new Uint8Array(config),
    codecString,
    width: displayWidth(codedWidth, sps.sampleAspectRatio),
    height: codedHeight,
    codedWidth,
    codedHeight,
    declaredFrameRate: sps.frameRate,
    videoRange: videoRangeOf(sps.colour),
    reorderedFrames: sps.reorderedFrames,
  };
}

/** The size in bytes of the length before each NAL unit of a track's packets: 1, 2 or 4. */
export function nalLengthSize(track: VideoTrack): number {
  return (track.config[4]! & 3) + 1;
}

/**
 * Makes a reader for the access units of a track, which must be given in their order. It returns what is in each. A decoder can start at
 * an access unit with an IDR picture. The reader checks the whole unit down to its NAL units, and every SPS in it as strictly as one in
 * the configuration. An SPS of another size than the configuration's is kept: decoders follow it.
 *
 * The reader throws {@link MalformedAccessUnitError} when the lengths of NAL units do not fit the unit, or an SPS is not acceptable.
 */
export function avcUnitReader(track: VideoTrack): (data: Uint8Array) => UnitContent {
  const lengthSize = nalLengthSize(track);
  const sets = new InBandSets(parseH264Sps);
  return (data) => {
    sets.unit(data.length);
    let keyframe = false;
    let empty = true;
    visitNalUnits(data, lengthSize, (start, end) => {
      const type = data[start]! & TYPE_BITS;
      if (type === NAL_SPS) sets.read(data.subarray(start, end));
      if (type < FIRST_SLICE || type > NAL_IDR) return;
      keyframe ||= type === NAL_IDR;
      empty = false;
    });
    return { keyframe, empty };
  };
}

/**
 * The parameter sets of a configuration, as an access unit may begin with them.
 * @throws {InvalidCodecConfigError} as {@link parseAvcConfig}
 */
export function avcSetsInBand(config: Uint8Array): Uint8Array {
  const { first, others } = parameterSets(config);
  return withLengths([first, ...others], (config[4]! & 3) + 1);
}

/** The `avc1` sample entry of a track. */
export function avcSampleEntry(track: VideoTrack): Piece {
  const boxes = { entry: 'avc1', configuration: 'avcC' };
  return videoSampleEntry(boxes, track, track.config, parseH264Sps(parameterSets(track.config).first));
}

/**
 * Walks the whole record, and returns its first SPS and all its other parameter sets.
 * @throws {InvalidCodecConfigError} when any length runs past the end or either kind of parameter set is missing
 */
function parameterSets(config: Uint8Array): { readonly first: Uint8Array; readonly others: readonly Uint8Array[] } {
  if (config.length > MAX_CONFIG_BYTES) {
    throw new InvalidCodecConfigError(
      `The avcC record has ${config.length} bytes; at most ${MAX_CONFIG_BYTES} are allowed.`,
    );
  }
  if (config.length < 7) throw new InvalidCodecConfigError(`The avcC record has only ${config.length} bytes.`);
  if (config[0] !== 1)
    throw new InvalidCodecConfigError(`The avcC record has version ${config[0]}; only 1 is supported.`);
  if ((config[4]! & 3) === 2) throw new InvalidCodecConfigError('The avcC record states NAL unit lengths of 3 bytes.');
  const spss = readNals(config, 6, config[5]! & 0x1f);
  const ppss = readNals(config, spss.end + 1, config[spss.end] ?? 0);
  const [first, ...others] = spss.nals;
  const [pps] = ppss.nals;
  if (first === undefined) throw new InvalidCodecConfigError('The avcC record holds no SPS.');
  if (pps === undefined) throw new InvalidCodecConfigError('The avcC record holds no PPS.');
  if (nalType(pps) !== NAL_PPS)
    throw new InvalidCodecConfigError('The second kind of parameter set in avcC is not a PPS.');
  return { first, others: [...others, ...ppss.nals] };
}

/** Reads `count` NAL units, each preceded by 16 bits of length. */
function readNals(config: Uint8Array, start: number, count: number): { nals: Uint8Array[]; end: number } {
  const nals: Uint8Array[] = [];
  let end = start;
  for (let index = 0; index < count; index++) {
    const from = end + 2;
    end = from + (((config[end] ?? 0) << 8) | (config[end + 1] ?? 0));
    if (from > config.length || end > config.length || from === end) {
      throw new InvalidCodecConfigError('The avcC record holds an empty parameter set, or ends within one.');
    }
    nals.push(config.subarray(from, end));
  }
  return { nals, end };
}

const nalType = (nal: Uint8Array): number => nal[0]! & TYPE_BITS;

const hexByte = (value: number): string => value.toString(16).padStart(2, '0');
