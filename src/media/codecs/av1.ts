/**
 * AV1 in ISO BMFF: the `av1C` configuration record, temporal units, and the `av01` sample entry (AV1 Codec ISO Media File
 * Format Binding §2).
 */
import { InBandSets, parsed } from '#media/in-band-sets.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import type { Piece } from '#media/mp4/box.ts';
import { VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import type { UnitContent } from '#media/unit-content.ts';
import { checkFrameSize } from './av1-frame.ts';
import { OBU, obus } from './av1-obu.ts';
import { parseSequenceHeader, type SequenceHeader, UNSPECIFIED } from './av1-sequence.ts';
import { videoRangeOf, videoSampleEntry } from './video-sample-entry.ts';

/** The longest record that is read. Those of encoders have less than 30 bytes. */
const MAX_CONFIG_BYTES = 16_384;
/** Bytes before the OBUs. */
const HEADER_BYTES = 4;
/** A marker bit and version 1. */
const MARKER_AND_VERSION = 0x81;
/** OBUs that begin with a frame header. A decoder that has missed a frame header uses the redundant one that repeats it. */
const FRAME_HEADERS: ReadonlySet<number> = new Set([OBU.frame, OBU.frameHeader, OBU.redundantFrameHeader]);
/** The first bits of the header of a shown key frame (§5.9.2): show_existing_frame, frame_type and show_frame. */
const SHOWN_KEY_FRAME = 0b0001;

/**
 * Reads an AV1CodecConfigurationRecord, the body of `av1C`, into a track. The bytes are copied.
 * @throws {InvalidCodecConfigError} when it is broken, lacks a sequence header, or states too large a frame
 */
export function parseAv1Config(config: Uint8Array): VideoTrack {
  const sequence = sequenceHeader(config);
  const { width, height } = sequence;
  return {
    kind: 'video',
    codec: 'av1',
    timescale: VIDEO_TIMESCALE,
    config: new Uint8Array(config),
    codecString: codecString(sequence),
    width,
    height,
    codedWidth: width,
    codedHeight: height,
    declaredFrameRate: sequence.frameRate,
    videoRange: videoRangeOf(sequence.colour),
    reorderedFrames: undefined,
  };
}

/** The content of a temporal unit. */
export interface TemporalUnit extends UnitContent {
  /** The bytes without temporal delimiters, which samples must not contain. The same bytes when the unit contains none. */
  readonly data: Uint8Array;
}

/**
 * Makes a reader for the temporal units of a track, which must be given in their order. It checks each down to its OBUs. A decoder can
 * start at a shown key frame that has its sequence header with it (§2.4).
 *
 * The reader throws {@link MalformedAccessUnitError} when the lengths of OBUs do not fit the unit, or when a sequence header or a frame is
 * not acceptable. Frames are checked because each may state a size of its own, which may be larger than that of the sequence.
 */
export function temporalUnitReader(track: VideoTrack): (data: Uint8Array) => TemporalUnit {
  const sequences = new InBandSets(parseSequenceHeader);
  let { frameHeaders } = sequenceHeader(track.config);
  return (data) => {
    sequences.unit(data.length);
    const kept: Uint8Array[] = [];
    let delimited = false;
    let hasSequence = false;
    let firstFrame: Uint8Array | undefined;
    let headersOfUnit = frameHeaders;
    for (const obu of obus(data)) {
      const { type, payload, whole } = obu;
      if (type === OBU.temporalDelimiter) {
        delimited = true;
        continue;
      }
      kept.push(whole);
      if (type === OBU.sequenceHeader) {
        hasSequence = true;
        headersOfUnit = sequences.read(payload).frameHeaders;
      }
      if (FRAME_HEADERS.has(type)) parsed(() => checkFrameSize(obu, headersOfUnit));
      if (type === OBU.frame || type === OBU.frameHeader) firstFrame ??= payload;
    }
    frameHeaders = headersOfUnit; // only after all checks, because a decoder never gets a unit that is refused
    const keyframe = hasSequence && firstFrame !== undefined && (firstFrame[0] ?? 0) >> 4 === SHOWN_KEY_FRAME;
    return { keyframe, empty: firstFrame === undefined, data: delimited ? Buffer.concat(kept) : data };
  };
}

/** The `av01` sample entry of a track. */
export function av1SampleEntry(track: VideoTrack): Piece {
  const { colour } = sequenceHeader(track.config);
  const boxes = { entry: 'av01', configuration: 'av1C' };
  return videoSampleEntry(boxes, track, track.config, { colour, sampleAspectRatio: undefined });
}

/**
 * The `codecs` parameter of §5, for example `av01.0.04M.08`. The optional fields follow only when they differ from the defaults, because
 * not every player reads them.
 */
function codecString(sequence: SequenceHeader): string {
  const { profile, levelIndex, highTier, bitDepth, monochrome, colour } = sequence;
  const level = `${twoDigits(levelIndex)}${highTier ? 'H' : 'M'}`;
  const short = `av01.${profile}.${level}.${twoDigits(bitDepth)}`;
  const { primaries, transfer, matrix, fullRange } = colour ?? { ...UNSPECIFIED, fullRange: false };
  const chroma = [sequence.subsamplingX, sequence.subsamplingY].map(Number).join('') + sequence.chromaSamplePosition;
  const rest = [Number(monochrome), chroma, ...[primaries, transfer, matrix].map(twoDigits), Number(fullRange)].join(
    '.',
  );
  return DEFAULTS.includes(rest) ? short : `${short}.${rest}`;
}

/** The optional fields that are left out: the defaults of §5, and the same for unspecified colours. */
const DEFAULTS: readonly string[] = ['0.110.01.01.01.0', '0.110.02.02.02.0'];

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** Reads the sequence header of a record. @throws {InvalidCodecConfigError} when the record is broken, or contains none */
function sequenceHeader(config: Uint8Array): SequenceHeader {
  if (config.length > MAX_CONFIG_BYTES) {
    throw new InvalidCodecConfigError(
      `The av1C record has ${config.length} bytes; at most ${MAX_CONFIG_BYTES} are allowed.`,
    );
  }
  if (config.length < HEADER_BYTES) {
    throw new InvalidCodecConfigError(`The av1C record has only ${config.length} bytes.`);
  }
  if (config[0] !== MARKER_AND_VERSION) {
    throw new InvalidCodecConfigError('The av1C record does not begin with its marker and version 1.');
  }
  for (const { type, payload } of configObus(config)) {
    if (type === OBU.sequenceHeader) return parseSequenceHeader(payload);
  }
  throw new InvalidCodecConfigError('The av1C record holds no sequence header.');
}

/** Reads the OBUs of a record. @throws {InvalidCodecConfigError} when one is broken */
function configObus(config: Uint8Array) {
  try {
    return [...obus(config.subarray(HEADER_BYTES))];
  } catch (error) {
    if (!(error instanceof MalformedAccessUnitError)) throw error;
    throw new InvalidCodecConfigError(`The av1C record is broken. ${error.message}`);
  }
}
