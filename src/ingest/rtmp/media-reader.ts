/**
 * Turns the audio, video and data messages of one publish into tracks and packets.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Publication } from '#ingest/ingest.ts';
import { ticks } from '#lib/units.ts';
import { type AccessUnit, type AccessUnitReader, codecOf } from '#media/codecs.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import type { Track, TrackKind } from '#media/track.ts';
import type { Allowance } from './allowance.ts';
import { readAmf } from './commands.ts';
import { MAX_METADATA_VALUES } from './config.ts';
import type { FaultCounter } from './fault-counter.ts';
import { readFlvTag } from './flv-tag.ts';
import type { MediaTag } from './media-tag.ts';
import { MESSAGE, type Message } from './message.ts';
import { type Metadata, readMetadata } from './metadata.ts';
import { RtmpError } from './rtmp-error.ts';
import { TimestampUnwrapper } from './timestamp.ts';

/** The publisher sends what Millrace does not play. The message is a sentence for whoever set the encoder up. */
export class UnplayableMediaError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'UnplayableMediaError';
  }
}

/** What to tell a publisher of another codec. */
const WAY_OUT: Record<TrackKind, string> = {
  video: 'Millrace takes H.264, HEVC and AV1 video; set the encoder to H.264.',
  audio: 'Millrace takes AAC and Opus audio; set the encoder to AAC.',
};

/** Decoding times that are later than this are no mistake of an encoder's: more would count as a jump of its clock. */
const MAX_LATE_MS = 1000;
/** Longer than any encoder's frames wait for those decoded before them. A frame far ahead of time would hold up all renditions. */
const MAX_COMPOSITION_MS = 10_000;

type Config = Extract<MediaTag, { type: 'config' }>;
type Frame = Extract<MediaTag, { type: 'frame' }>;

/** Reads the media of one publish. */
export class MediaReader {
  readonly #publication: Publication;
  readonly #faults: FaultCounter;
  readonly #newStarts: Allowance;
  readonly #clock = new TimestampUnwrapper();
  readonly #tracks = new Map<TrackKind, { readonly track: Track; readonly readUnit: AccessUnitReader }>();
  /**
   * How much too late the decoding times are. A frame cannot be shown before it is decoded, but some encoders say so (Ecamm Live of
   * still pictures): when it is shown must stay, or frames would change places, so all are decoded earlier from then on.
   */
  #lateMs = 0;
  #metadata: Metadata | undefined;

  /** @param options.faults counts what was dropped, by why */
  constructor(
    publication: Publication,
    { faults, newStarts }: { readonly faults: FaultCounter; readonly newStarts: Allowance },
  ) {
    this.#publication = publication;
    this.#faults = faults;
    this.#newStarts = newStarts;
  }

  /**
   * @returns the bytes of media the message held
   * @throws {UnplayableMediaError} when the encoder must be set up differently
   * @throws {RtmpError} when it changes its configuration or its metadata too often
   */
  read(message: Message): number {
    switch (message.type) {
      case MESSAGE.video:
        return this.#readMedia('video', message);
      case MESSAGE.audio:
        return this.#readMedia('audio', message);
      case MESSAGE.data:
      case MESSAGE.dataAmf3:
        this.#readData(message);
        return 0;
      default:
        return 0;
    }
  }

  #readMedia(kind: TrackKind, message: Message): number {
    const tag = readFlvTag(kind, message.payload);
    switch (tag.type) {
      case 'config':
        this.#configure(kind, tag);
        return 0;
      case 'frame':
        this.#write(kind, message.timestamp, tag);
        return tag.data.length;
      case 'unsupported':
        throw new UnplayableMediaError(WAY_OUT[kind]);
      case 'malformed':
        this.#faults.count(`${kind}_malformed`);
        return 0;
      case 'ignored':
        return 0;
    }
  }

  #configure(kind: TrackKind, { codec, data }: Config): void {
    const before = this.#tracks.get(kind)?.track;
    // Encoders repeat their configuration, some before each keyframe.
    if (before?.codec === codec && data.equals(before.config)) return;
    this.#newStarts.use();
    const track = this.#completed(parsed(kind, () => codecOf(codec).parseConfig(data)));
    this.#tracks.set(kind, { track, readUnit: codecOf(codec).accessUnitReader(track) });
    this.#publication.track(track);
  }

  /** Bitstreams of phones and of AV1 seldom declare a frame rate, their publishers do. */
  #completed(track: Track): Track {
    if (track.kind === 'audio' || track.declaredFrameRate !== undefined) return track;
    return { ...track, declaredFrameRate: this.#metadata?.videoFrameRate };
  }

  #write(kind: TrackKind, timestamp: number, { codec, offsetMs, compositionMs, data }: Frame): void {
    const timeMs = this.#clock.unwrap(timestamp) + offsetMs;
    const { track, readUnit } = this.#tracks.get(kind) ?? {};
    if (track?.codec !== codec || readUnit === undefined) {
      this.#faults.count(`${kind}_without_config`);
      return;
    }
    const unit = readOrMalformed(data, readUnit);
    if (unit === 'malformed') {
      this.#faults.count(`${kind}_malformed`);
      return;
    }
    const { empty, ...content } = unit;
    if (empty) {
      this.#faults.count(`${kind}_empty`);
      return;
    }
    const isBelievable = -compositionMs <= MAX_LATE_MS && compositionMs <= MAX_COMPOSITION_MS;
    const shownAfterMs = isBelievable ? compositionMs : 0;
    if (kind === 'video') this.#lateMs = Math.max(this.#lateMs, -shownAfterMs);
    const lateMs = kind === 'video' ? this.#lateMs : 0;
    const ticksPerMs = track.timescale / 1000;
    const dts = Math.round((timeMs - lateMs) * ticksPerMs);
    const pts = dts + (shownAfterMs + lateMs) * ticksPerMs;
    this.#publication.packet({ kind, dts: ticks(dts), pts: ticks(pts), ...content });
  }

  /** Metadata is a courtesy: what cannot be read is passed over. */
  #readData(message: Message): void {
    const metadata = this.#metadataOf(message);
    // GStreamer repeats its metadata ten times a second.
    if (metadata === undefined || isDeepStrictEqual(metadata, this.#metadata)) return;
    this.#newStarts.use();
    this.#metadata = metadata;
    this.#publication.announce(metadata.announcement);
  }

  #metadataOf(message: Message): Metadata | undefined {
    try {
      return readMetadata(readAmf(message, MESSAGE.dataAmf3, MAX_METADATA_VALUES));
    } catch (error) {
      if (!(error instanceof RtmpError)) throw error;
      this.#faults.count('metadata_malformed');
      return undefined;
    }
  }
}

function parsed<T>(kind: TrackKind, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof InvalidCodecConfigError)) throw error;
    throw new UnplayableMediaError(`The encoder's ${kind} configuration cannot be used. ${error.message}`, {
      cause: error,
    });
  }
}

/** The bitstream is asked for keyframes, not the tag: some encoders mark frames a decoder cannot start at. */
function readOrMalformed(data: Buffer, readUnit: AccessUnitReader): AccessUnit | 'malformed' {
  try {
    return readUnit(data);
  } catch (error) {
    if (error instanceof MalformedAccessUnitError) return 'malformed';
    throw error;
  }
}
