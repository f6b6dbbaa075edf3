/**
 * Turns the audio, video and data messages of one publish into tracks and packets.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Publication } from '#ingest/ingest.ts';
import { ticks } from '#lib/units.ts';
import { type AccessUnit, type AccessUnitReader, codecOf } from '#media/codecs.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { readAmf } from '#media/rtmp/commands.ts';
import { readFlvTag } from '#media/rtmp/flv-tag.ts';
import type { MediaTag } from '#media/rtmp/media-tag.ts';
import { MESSAGE, type Message } from '#media/rtmp/message.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { TimestampUnwrapper } from '#media/rtmp/timestamp.ts';
import { SampleMemory } from '#media/sample-memory.ts';
import { type Track, type TrackId, type TrackKind, trackId } from '#media/track.ts';
import type { Allowance } from './allowance.ts';
import { MAX_METADATA_VALUES } from './config.ts';
import type { FaultCounter } from './fault-counter.ts';
import { type Metadata, readMetadata } from './metadata.ts';

/** The publisher sends media that Millrace cannot play. The message is a sentence for the person who configures the encoder. */
export class UnplayableMediaError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'UnplayableMediaError';
  }
}

/** The ids of the tracks: FLV has one track of each kind. */
const TRACK_IDS: Record<TrackKind, TrackId> = { video: trackId('video'), audio: trackId('audio') };
/** The sentence for a publisher that uses an unsupported codec. */
const UNSUPPORTED_CODEC: Record<TrackKind, string> = {
  video: 'Millrace supports H.264, HEVC and AV1 video; set the encoder to H.264.',
  audio: 'Millrace supports AAC and Opus audio; set the encoder to AAC.',
};

/** The longest time by which a frame may be shown before it is decoded. A longer time is ignored: the frame is shown when it is decoded. */
const MAX_LATE_MS = 1000;
/** The longest composition time. A longer one is ignored. No encoder reorders frames so far, and such a frame would delay all renditions. */
const MAX_COMPOSITION_MS = 10_000;

type Config = Extract<MediaTag, { type: 'config' }>;
type Frame = Extract<MediaTag, { type: 'frame' }>;

/** A track whose configuration was received. */
interface OpenTrack {
  readonly track: Track;
  readonly readUnit: AccessUnitReader;
  readonly memory: SampleMemory;
}

/** Reads the media of one publish. */
export class MediaReader {
  readonly #publication: Publication;
  readonly #faults: FaultCounter;
  readonly #newStarts: Allowance;
  readonly #clock = new TimestampUnwrapper();
  readonly #tracks = new Map<TrackKind, OpenTrack>();
  /**
   * By how many milliseconds the decoding times are too late. Some encoders send frames that would be shown before they are decoded (Ecamm
   * Live, for still images). Their presentation times must stay, or frames would change places, so all later frames are decoded earlier
   * instead.
   */
  #lateMs = 0;
  #metadata: Metadata | undefined;

  /** @param options.faults counts what is dropped, by reason */
  constructor(
    publication: Publication,
    { faults, newStarts }: { readonly faults: FaultCounter; readonly newStarts: Allowance },
  ) {
    this.#publication = publication;
    this.#faults = faults;
    this.#newStarts = newStarts;
  }

  /**
   * Reads the next message. Nothing of its payload is kept, so that its memory can be used again.
   * @returns the number of bytes of media in the message
   * @throws {UnplayableMediaError} when the encoder must be configured differently
   * @throws {RtmpError} when the publisher changes its configuration too often
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
        throw new UnplayableMediaError(UNSUPPORTED_CODEC[kind]);
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
    this.#tracks.set(kind, {
      track,
      readUnit: codecOf(codec).accessUnitReader(track),
      memory: new SampleMemory(kind),
    });
    this.#publication.track(track, TRACK_IDS[kind]);
  }

  /** Adds the frame rate of the metadata, because the bitstreams of phones and of AV1 seldom declare one. */
  #completed(track: Track): Track {
    if (track.kind === 'audio' || track.declaredFrameRate !== undefined) return track;
    return { ...track, declaredFrameRate: this.#metadata?.videoFrameRate };
  }

  #write(kind: TrackKind, timestamp: number, { codec, offsetMs, compositionMs, data }: Frame): void {
    const timeMs = this.#clock.unwrap(timestamp) + offsetMs;
    const open = this.#tracks.get(kind);
    if (open?.track.codec !== codec) {
      this.#faults.count(`${kind}_without_config`);
      return;
    }
    const { track, readUnit, memory } = open;
    const unit = readOrMalformed(data, readUnit);
    if (unit === 'malformed') {
      this.#faults.count(`${kind}_malformed`);
      return;
    }
    if (unit.empty) {
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
    const { keyframe } = unit;
    const packet = { kind, dts: ticks(dts), pts: ticks(pts), keyframe, data: memory.keep(unit.data) };
    this.#publication.packet(packet, TRACK_IDS[kind]);
  }

  /**
   * Reads metadata. Metadata that cannot be parsed is ignored, because it is optional.
   *
   * A change is not counted as a new start, because viewers and the transcoder do not notice it. GStreamer's flvmux sends metadata whenever a
   * tag changes. Without a nominal bitrate it sends the average bitrate that the parser measures, which changes with nearly every frame at
   * the beginning (`gst_base_parse_update_bitrates`).
   */
  #readData(message: Message): void {
    const metadata = this.#metadataOf(message);
    if (metadata === undefined || isDeepStrictEqual(metadata, this.#metadata)) return;
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

/**
 * Reads an access unit. Keyframes are found in the bitstream and not by the tag, because some encoders mark frames at which a decoder cannot
 * start.
 */
function readOrMalformed(data: Buffer, readUnit: AccessUnitReader): AccessUnit | 'malformed' {
  try {
    return readUnit(data);
  } catch (error) {
    if (error instanceof MalformedAccessUnitError) return 'malformed';
    throw error;
  }
}
