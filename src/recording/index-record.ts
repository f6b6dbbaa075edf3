/**
 * The records of a recording's index. `index-file.ts` has the form in which they are written.
 */
import type { SampleColumns } from '#media/mp4/movie.ts';
import type { Track, VideoRange } from '#media/track.ts';
import type { PlacedPicture } from './picture-file.ts';

/** What the index of a recording states about a rendition's track. */
export type TrackDescription = { readonly codec: string; readonly rfc6381: string; readonly timescale: number } & (
  | {
      readonly kind: 'video';
      /** Displayed size in pixels. */
      readonly width: number;
      readonly height: number;
      /** Frames per second, as the bitstream or the publisher states it. */
      readonly declaredFrameRate: number | undefined;
      readonly videoRange: VideoRange | undefined;
    }
  | { readonly kind: 'audio'; readonly channels: number; readonly sampleRate: number }
);

/** An init segment. Its record comes before that of the first segment that needs it. */
export interface InitRecord {
  readonly type: 'init';
  /** The number that stands for the rendition in all records. */
  readonly rendition: number;
  /** The rendition's id. */
  readonly id: string;
  /** Counts the init segments of the rendition from 0. */
  readonly number: number;
  readonly track: TrackDescription;
  readonly bytes: Uint8Array;
}

/** The beginning of a segment. Its parts follow. */
export interface SegmentRecord {
  readonly type: 'segment';
  readonly rendition: number;
  /** The same in all renditions for the same time. Ascending; a rendition without media at some time has no segment with its number. */
  readonly number: number;
  /** The volume that it is in, and where its first part begins there, in bytes. Its parts follow one another without a hole. */
  readonly volume: number;
  readonly offset: number;
  /** The number of its init segment. */
  readonly init: number;
  /** Decoding time of the first sample, in ticks of session time. */
  readonly startTicks: number;
  /** The wall-clock time at which its first frame was shown, in milliseconds. */
  readonly programDateTimeMs: number;
  /** Whether it does not continue the segment before it (EXT-X-DISCONTINUITY). */
  readonly discontinuity: boolean;
  /** Whether a decoder can start with its first frame. */
  readonly independent: boolean;
}

/** The next part of the newest segment of a rendition: a fragment. */
export interface PartRecord {
  readonly type: 'part';
  readonly rendition: number;
  readonly sizeBytes: number;
  /** The length of `moof`. The samples begin eight bytes after its end, after the header of `mdat`. */
  readonly moofBytes: number;
  /** The CRC-32 of all its bytes. */
  readonly crc32: number;
  /** Decoding time of its first sample, counted from that of the segment's first sample, in ticks. */
  readonly offsetTicks: number;
  readonly samples: SampleColumns;
}

/** The end of the newest segment of a rendition. Without it, because the process was killed, the segment lasts as long as its parts. */
export interface SegmentEndRecord {
  readonly type: 'segment_end';
  readonly rendition: number;
  readonly durationTicks: number;
}

/** A picture that was kept. Its bytes are written before this record is. */
export interface PictureRecord extends PlacedPicture {
  readonly type: 'picture';
}

/** States that all records before it are durable, in this file and in the volumes that they name. */
export interface SyncRecord {
  readonly type: 'sync';
}

/** States that the recording is complete. */
export interface EndRecord {
  readonly type: 'end';
}

/** A record of an index. */
export type IndexRecord =
  | InitRecord
  | SegmentRecord
  | PartRecord
  | SegmentEndRecord
  | SyncRecord
  | EndRecord
  | PictureRecord;

/** Describes a track for the index. */
export function describeTrack(track: Track): TrackDescription {
  const { codec, codecString: rfc6381, timescale } = track;
  if (track.kind === 'audio') {
    const { channels, sampleRate } = track;
    return { kind: 'audio', codec, rfc6381, timescale, channels, sampleRate };
  }
  const { width, height, declaredFrameRate, videoRange } = track;
  return { kind: 'video', codec, rfc6381, timescale, width, height, declaredFrameRate, videoRange };
}
