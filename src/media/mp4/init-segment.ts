/**
 * Writes the init segment, which describes a track to a player before its first fragment (a CMAF header, ISO/IEC 23000-19 §7.3.1).
 */
import { codecOf } from '#media/codecs.ts';
import type { Track } from '#media/track.ts';
import { ascii, box, fullBox, type Piece, serialize, u32 } from './box.ts';
import { sampleDefaults, TRACK_ID } from './sample-defaults.ts';
import { movieHeader, trackBox } from './track-boxes.ts';

/** The init segment of one track: `ftyp` and `moov`. The same track always gives the same bytes. */
export function initSegment(track: Track): Uint8Array {
  const { kind, timescale } = track;
  const [width, height] = track.kind === 'video' ? [track.width, track.height] : [0, 0];
  // All durations are 0, because all samples are in fragments.
  const none = { shownTicks: 0, mediaTicks: 0 };
  const described = trackBox({
    id: TRACK_ID,
    kind,
    timescale,
    width,
    height,
    ...none,
    sampleTable: sampleTable(track),
  });
  return serialize(
    box('ftyp', ascii('iso6'), u32(0), ascii('iso6cmfc')),
    box('moov', movieHeader(timescale, 0, TRACK_ID + 1), described, box('mvex', trackExtends(track))),
  );
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
