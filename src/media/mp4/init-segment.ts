/**
 * Writes the init segment, which describes a track to a player before its first fragment (a CMAF header, ISO/IEC 23000-19 §7.3.1).
 */
import { codecOf } from '#media/codecs.ts';
import type { Track } from '#media/track.ts';
import { ascii, box, fullBox, type Piece, serialize, u8, u16, u32, zeros } from './box.ts';
import { sampleDefaults, TRACK_ID } from './sample-defaults.ts';

/** The identity matrix in 16.16 and 2.30 fixed point: no rotation, no scaling. */
const MATRIX = u32(0x00010000, 0, 0, 0, 0x00010000, 0, 0, 0, 0x40000000);

/** The language code `und`, in three letters of five bits. */
const LANGUAGE_UNDETERMINED = 0x55c4;

/** The init segment of one track: `ftyp` and `moov`. The same track always gives the same bytes. */
export function initSegment(track: Track): Uint8Array {
  return serialize(
    box('ftyp', ascii('iso6'), u32(0), ascii('iso6cmfc')),
    box('moov', movieHeader(track), trackBox(track), box('mvex', trackExtends(track))),
  );
}

/** All durations are 0, because all samples are in fragments. */
function movieHeader(track: Track): Piece {
  return fullBox(
    'mvhd',
    0,
    0,
    u32(0, 0, track.timescale, 0), // created, modified, timescale, duration
    u32(0x00010000), // rate 1.0
    u16(0x0100, 0), // volume 1.0
    zeros(8),
    MATRIX,
    zeros(24),
    u32(TRACK_ID + 1), // next_track_ID
  );
}

function trackBox(track: Track): Piece {
  return box('trak', trackHeader(track), box('mdia', mediaHeader(track), handler(track), mediaInformation(track)));
}

function trackHeader(track: Track): Piece {
  const size = track.kind === 'video' ? [track.width * 0x10000, track.height * 0x10000] : [0, 0];
  return fullBox(
    'tkhd',
    0,
    3, // enabled, in the movie
    u32(0, 0, TRACK_ID, 0, 0), // created, modified, id, reserved, duration
    zeros(8),
    u16(0, 0, track.kind === 'audio' ? 0x0100 : 0, 0), // layer, alternate_group, volume, reserved
    MATRIX,
    u32(...size), // as displayed, 16.16
  );
}

function mediaHeader(track: Track): Piece {
  return fullBox('mdhd', 0, 0, u32(0, 0, track.timescale, 0), u16(LANGUAGE_UNDETERMINED, 0));
}

function handler(track: Track): Piece {
  const [type, name] = track.kind === 'video' ? ['vide', 'Video'] : ['soun', 'Audio'];
  return fullBox('hdlr', 0, 0, zeros(4), ascii(type), zeros(12), ascii(name), u8(0));
}

function mediaInformation(track: Track): Piece {
  const header = track.kind === 'video' ? fullBox('vmhd', 0, 1, zeros(8)) : fullBox('smhd', 0, 0, zeros(4));
  const dataInformation = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)));
  return box('minf', header, dataInformation, sampleTable(track));
}

/** Only the description has content. The format requires the tables of samples, which are empty. */
function sampleTable(track: Track): Piece {
  return box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), codecOf(track.codec).sampleEntry(track)),
    fullBox('stts', 0, 0, u32(0)),
    fullBox('stsc', 0, 0, u32(0)),
    fullBox('stsz', 0, 0, u32(0, 0)),
    fullBox('stco', 0, 0, u32(0)),
  );
}

function trackExtends(track: Track): Piece {
  const { durationTicks, flags } = sampleDefaults(track);
  return fullBox('trex', 0, 0, u32(TRACK_ID, 1, durationTicks, 0, flags)); // id, description, duration, size, flags
}
