/**
 * Turns the audio, video and data messages of one publish into tracks and packets.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Announcement, Publication } from '#ingest/ingest.ts';
import { ticks } from '#lib/units.ts';
import { parseAudioSpecificConfig } from '#media/codecs/aac.ts';
import { isKeyframe, parseAvcConfig } from '#media/codecs/h264.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { type AudioTrack, type TrackKind, VIDEO_TIMESCALE, type VideoTrack } from '#media/track.ts';
import { readAmf } from './commands.ts';
import type { FaultCounter } from './fault-counter.ts';
import { readFlvTag } from './flv-tag.ts';
import { MESSAGE, type Message } from './message.ts';
import { readAnnouncement } from './metadata.ts';
import { RtmpError } from './rtmp-error.ts';
import { TimestampUnwrapper } from './timestamp.ts';

/** The publisher sends what Millrace does not play. The message is a sentence for whoever set the encoder up. */
export class UnplayableMediaError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'UnplayableMediaError';
  }
}

/** Reads the media of one publish. */
export class MediaReader {
  readonly #publication: Publication;
  readonly #faults: FaultCounter;
  readonly #clock = new TimestampUnwrapper();
  #video: VideoTrack | undefined;
  #audio: AudioTrack | undefined;
  #announced: Announcement | undefined;

  /** @param faults counts what was dropped, by why */
  constructor(publication: Publication, faults: FaultCounter) {
    this.#publication = publication;
    this.#faults = faults;
  }

  /**
   * @returns the bytes of media the message held
   * @throws {UnplayableMediaError} when the encoder must be set up differently
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
        if (kind === 'video') this.#configureVideo(tag.data);
        else this.#configureAudio(tag.data);
        return 0;
      case 'frame':
        if (kind === 'video') this.#writeVideo(message.timestamp, tag.compositionMs, tag.data);
        else this.#writeAudio(message.timestamp, tag.data);
        return tag.data.length;
      case 'unsupported':
        throw new UnplayableMediaError(
          kind === 'video'
            ? 'Millrace takes H.264 video; set the encoder to H.264.'
            : 'Millrace takes AAC audio; set the encoder to AAC.',
        );
      case 'malformed':
        this.#faults.count(`${kind}_malformed`);
        return 0;
      case 'ignored':
        return 0;
    }
  }

  #configureVideo(config: Buffer): void {
    if (isSame(this.#video, config)) return;
    this.#video = parsed('video', parseAvcConfig, config);
    this.#publication.track(this.#video);
  }

  #configureAudio(config: Buffer): void {
    if (isSame(this.#audio, config)) return;
    this.#audio = parsed('audio', parseAudioSpecificConfig, config);
    this.#publication.track(this.#audio);
  }

  #writeVideo(timestamp: number, compositionMs: number, data: Buffer): void {
    const timeMs = this.#clock.unwrap(timestamp);
    const track = this.#video;
    if (track === undefined) {
      this.#faults.count('video_without_config');
      return;
    }
    const keyframe = isKeyframeOrMalformed(data, track);
    if (keyframe === 'malformed') {
      this.#faults.count('video_malformed');
      return;
    }
    const ticksPerMs = VIDEO_TIMESCALE / 1000;
    const dts = timeMs * ticksPerMs;
    // A frame cannot be shown before it is decoded; encoders that say so shift all their frames by mistake.
    const pts = dts + Math.max(0, compositionMs) * ticksPerMs;
    this.#publication.packet({ kind: 'video', dts: ticks(dts), pts: ticks(pts), keyframe, data });
  }

  #writeAudio(timestamp: number, data: Buffer): void {
    const timeMs = this.#clock.unwrap(timestamp);
    if (this.#audio === undefined) {
      this.#faults.count('audio_without_config');
      return;
    }
    const time = ticks(Math.round((timeMs * this.#audio.timescale) / 1000));
    this.#publication.packet({ kind: 'audio', dts: time, pts: time, keyframe: true, data });
  }

  /** Metadata is a courtesy: what cannot be read is passed over. */
  #readData(message: Message): void {
    try {
      const announcement = readAnnouncement(readAmf(message, MESSAGE.dataAmf3));
      // GStreamer repeats its metadata ten times a second.
      if (announcement === undefined || isDeepStrictEqual(announcement, this.#announced)) return;
      this.#announced = announcement;
      this.#publication.announce(announcement);
    } catch (error) {
      if (!(error instanceof RtmpError)) throw error;
      this.#faults.count('metadata_malformed');
    }
  }
}

/** Encoders repeat their configuration, some before each keyframe. */
function isSame(track: VideoTrack | AudioTrack | undefined, config: Buffer): boolean {
  return track !== undefined && config.equals(track.config);
}

function parsed<T>(kind: TrackKind, parse: (config: Uint8Array) => T, config: Buffer): T {
  try {
    return parse(config);
  } catch (error) {
    if (!(error instanceof InvalidCodecConfigError)) throw error;
    throw new UnplayableMediaError(`The encoder's ${kind} configuration cannot be used. ${error.message}`, {
      cause: error,
    });
  }
}

/** The bitstream is asked, not the tag: some encoders mark frames a decoder cannot start at. */
function isKeyframeOrMalformed(data: Buffer, track: VideoTrack): boolean | 'malformed' {
  try {
    return isKeyframe(data, track);
  } catch (error) {
    if (error instanceof MalformedAccessUnitError) return 'malformed';
    throw error;
  }
}
