/**
 * The boxes that describe movies and tracks (ISO/IEC 14496-12 §8.2 to §8.4), both in init segments and in whole movies.
 */
import type { TrackKind } from '#media/track.ts';
import { ascii, box, fullBox, type Piece, sequence, u8, u16, u32, u64, zeros } from './box.ts';

/** The identity matrix in 16.16 and 2.30 fixed point: no rotation, no scaling. */
const MATRIX = u32(0x00010000, 0, 0, 0, 0x00010000, 0, 0, 0, 0x40000000);

/** The language code `und`, in three letters of five bits. */
const LANGUAGE_UNDETERMINED = 0x55c4;

/** The values that the boxes of a track state. */
export interface TrackBoxes {
  readonly id: number;
  readonly kind: TrackKind;
  /** Ticks per second of the track. */
  readonly timescale: number;
  /** Displayed size in pixels. 0 for audio. */
  readonly width: number;
  readonly height: number;
  /** How long the track is shown, in ticks of the movie. 0 when all samples are in fragments. */
  readonly shownTicks: number;
  /** The duration of its samples together, in ticks of the track. 0 when all samples are in fragments. */
  readonly mediaTicks: number;
  /** The boxes between `tkhd` and `mdia`, such as `edts`. */
  readonly edits?: Piece;
  /** The whole box `stbl`. */
  readonly sampleTable: Piece;
}

/** The box `mvhd`. @param durationTicks in ticks of `timescale` */
export function movieHeader(timescale: number, durationTicks: number, nextTrackId: number): Piece {
  const version = versionFor(durationTicks);
  return fullBox(
    'mvhd',
    version,
    0,
    times(version, 0, 0), // created, modified
    u32(timescale),
    times(version, durationTicks),
    u32(0x00010000), // rate 1.0
    u16(0x0100, 0), // volume 1.0
    zeros(8),
    MATRIX,
    zeros(24),
    u32(nextTrackId),
  );
}

/** The box `trak`. */
export function trackBox(track: TrackBoxes): Piece {
  const { kind, timescale, mediaTicks, edits, sampleTable } = track;
  const media = box('mdia', mediaHeader(timescale, mediaTicks), handler(kind), mediaInformation(kind, sampleTable));
  return box('trak', trackHeader(track), edits ?? zeros(0), media);
}

/**
 * The version that a box needs for a duration: 0 has 32 bits for each time, 1 has 64. Version 0 is used where possible, for older players.
 */
export function versionFor(durationTicks: number): 0 | 1 {
  return durationTicks < 2 ** 32 ? 0 : 1;
}

/** The times of a box with a version: 32 or 64 bits each. */
export function times(version: 0 | 1, ...values: readonly number[]): Piece {
  return version === 0 ? u32(...values) : sequence(values.map((value) => u64(value)));
}

function trackHeader({ id, kind, width, height, shownTicks }: TrackBoxes): Piece {
  const version = versionFor(shownTicks);
  return fullBox(
    'tkhd',
    version,
    3, // enabled, in the movie
    times(version, 0, 0), // created, modified
    u32(id, 0), // id, reserved
    times(version, shownTicks),
    zeros(8),
    u16(0, 0, kind === 'audio' ? 0x0100 : 0, 0), // layer, alternate_group, volume, reserved
    MATRIX,
    u32(width * 0x10000, height * 0x10000), // as displayed, 16.16
  );
}

function mediaHeader(timescale: number, durationTicks: number): Piece {
  const version = versionFor(durationTicks);
  return fullBox(
    'mdhd',
    version,
    0,
    times(version, 0, 0),
    u32(timescale),
    times(version, durationTicks),
    u16(LANGUAGE_UNDETERMINED, 0),
  );
}

function handler(kind: TrackKind): Piece {
  const [type, name] = kind === 'video' ? ['vide', 'Video'] : ['soun', 'Audio'];
  return fullBox('hdlr', 0, 0, zeros(4), ascii(type), zeros(12), ascii(name), u8(0));
}

function mediaInformation(kind: TrackKind, sampleTable: Piece): Piece {
  const header = kind === 'video' ? fullBox('vmhd', 0, 1, zeros(8)) : fullBox('smhd', 0, 0, zeros(4));
  const dataInformation = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)));
  return box('minf', header, dataInformation, sampleTable);
}
