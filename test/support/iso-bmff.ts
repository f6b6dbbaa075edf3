/**
 * Reads init segments and fragments with mp4box, a reader that shares no code with Millrace's writer.
 */
import { createFile, type ISOFile, Log, MP4BoxBuffer, type Sample } from 'mp4box';

/** A sample as mp4box found it. Times are in ticks of the track's timescale. */
export interface ReadSample {
  readonly dts: number;
  readonly pts: number;
  readonly duration: number;
  readonly keyframe: boolean;
  /** sample_depends_on: 1 when the sample depends on others, 2 when it does not. */
  readonly dependsOn: number;
  readonly size: number;
  /** The sample's bytes, from where the fragment says that they are. */
  readonly data: Uint8Array;
}

/** The only track of an init segment, and the content of the fragments after it. */
export interface ReadTrack {
  readonly trackKind: 'video' | 'audio';
  readonly timescale: number;
  /** RFC 6381, as mp4box derives it from the sample entry. */
  readonly codecString: string;
  /** Pixels as displayed; 0 for audio. */
  readonly width: number;
  readonly height: number;
  /** Output channels and hertz of the sample entry; 0 for video. */
  readonly channels: number;
  readonly sampleRate: number;
  readonly brands: readonly string[];
  /** The number of each fragment, the decoding time that it states, and how many samples it has. */
  readonly fragments: readonly { readonly sequenceNumber: number; readonly dts: number; readonly samples: number }[];
  readonly samples: readonly ReadSample[];
}

/**
 * Reads an init segment and the media after it, as a player would append them.
 * @param init an init segment of one track
 * @param media parts or segments of the same rendition, in playlist order; may be empty
 * @throws {Error} when mp4box finds fault with a box, a box is unknown to it, or bytes are left over
 */
export function readTrack(init: Uint8Array, ...media: readonly Uint8Array[]): ReadTrack {
  const file = parse(Buffer.concat([init, ...media]));
  const [track, ...others] = file.getInfo().tracks;
  if (track === undefined || others.length > 0) throw new Error(`expected one track, found ${others.length}`);
  const samples = file.getTrackSamplesInfo(track.id).map((sample, index) => readSample(file, track.id, index, sample));
  return {
    trackKind: track.type === 'video' ? 'video' : 'audio',
    timescale: track.timescale,
    codecString: track.codec,
    width: track.video === undefined ? 0 : track.track_width,
    height: track.video === undefined ? 0 : track.track_height,
    channels: track.audio?.channel_count ?? 0,
    sampleRate: track.audio?.sample_rate ?? 0,
    brands: file.getInfo().brands,
    fragments: file.moofs.map((moof) => {
      const [fragment] = moof.trafs;
      return {
        sequenceNumber: moof.mfhd.sequence_number,
        dts: fragment!.tfdt.baseMediaDecodeTime,
        samples: fragment!.truns.reduce((count, run) => count + run.sample_count, 0),
      };
    }),
    samples,
  };
}

/** A track of a movie whose samples are in tables. */
export interface MovieTrackRead {
  readonly kind: string;
  readonly samples: readonly ReadSample[];
  /** The entries of its edit list: how long each is in seconds, and the time in the track, in its ticks, where it begins. -1: nothing is shown. */
  readonly edits: readonly { readonly shownS: number; readonly mediaTime: number }[];
  /** The duration of the track's presentation, in seconds. */
  readonly shownS: number;
  readonly sampleEntries: readonly string[];
}

/**
 * Reads a whole MP4 file.
 * @throws {Error} when mp4box finds fault with a box, a box is unknown to it, or bytes are left over
 */
export function readMovie(bytes: Uint8Array): readonly MovieTrackRead[] {
  const file = parse(bytes);
  return file.moov!.traks.map((trak) => {
    const id = trak.tkhd.track_id;
    const { timescale } = file.moov!.mvhd;
    const edits = (trak.edts?.elst?.entries ?? []).map(({ segment_duration, media_time }) => ({
      shownS: segment_duration / timescale,
      mediaTime: media_time,
    }));
    return {
      kind: trak.mdia.hdlr.handler,
      samples: file.getTrackSamplesInfo(id).map((sample, index) => readSample(file, id, index, sample)),
      edits,
      shownS: edits.filter(({ mediaTime }) => mediaTime >= 0).reduce((sum, { shownS }) => sum + shownS, 0),
      sampleEntries: trak.mdia.minf.stbl.stsd.entries.map(({ type }) => type),
    };
  });
}

function readSample(file: ISOFile, trackId: number, index: number, sample: Sample): ReadSample {
  const { data } = file.getTrackSample(trackId, index);
  return {
    dts: sample.dts,
    pts: sample.cts,
    duration: sample.duration,
    keyframe: sample.is_sync,
    dependsOn: sample.depends_on,
    size: sample.size,
    data: data ?? new Uint8Array(),
  };
}

/** Parses all of the bytes, and treats everything that mp4box would only log as a fault. */
function parse(bytes: Uint8Array): ISOFile {
  const file = createFile(true);
  const faults: string[] = [];
  const logging = { ...Log };
  Log.warn = Log.error = (module, message) => void faults.push(`${module}: ${message}`);
  try {
    file.appendBuffer(MP4BoxBuffer.fromArrayBuffer(new Uint8Array(bytes).buffer, 0), true);
    file.flush();
  } finally {
    Object.assign(Log, logging);
  }
  const end = file.boxes.reduce((at, { size }) => at + size, 0);
  if (end !== bytes.length) faults.push(`the boxes end at ${end} of ${bytes.length} bytes`);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return file;
}
