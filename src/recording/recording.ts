/**
 * The contract of `recording`. `live` hands every session that is kept to a {@link Recorder}, which receives the parts that viewers get.
 * `origin` and `api` read through the {@link Library}, in the same way from recordings that still run and from those that have ended.
 *
 * Nothing here ever makes media wait: all file I/O is done by worker threads behind bounded queues.
 */
import type { MediaPath, SessionId } from '#domain/ids.ts';
import type { PartSink, RenderedPlaylist } from '#hls/hls.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Picture } from '#media/picture.ts';

/** What is recorded. */
export interface RecordingRequest {
  readonly sessionId: SessionId;
  /** The folder of its files, and of its URLs: `Asset.path`. */
  readonly path: MediaPath;
  /** The wall-clock time of session time 0. */
  readonly epoch: Milliseconds;
  readonly targetDurationS: number;
  /** Raises or clears a warning of the session. */
  readonly warn: (code: RecordingWarning, isRaised: boolean) => void;
}

/** What a recorder warns of. */
export type RecordingWarning =
  | 'recording_behind'
  | 'recording_stopped'
  | 'recording_upload_failing'
  | 'recording_over_quota';

/** A track of a recording, as its asset shows it. */
export interface RecordedTrack {
  readonly kind: 'video' | 'audio';
  /** The rendition that it is, as in its playlist's name. */
  readonly rendition: string;
  /** The codec's short name, such as `h264` or `aac`. */
  readonly codec: string;
  /** The RFC 6381 name for `CODECS`. */
  readonly rfc6381: string;
  /** Bits per second, measured. */
  readonly bitrateBps: number;
  readonly width?: number;
  readonly height?: number;
  readonly fps?: number;
  readonly channels?: number;
  readonly sampleRate?: number;
}

/** How much of a recording there is. Media that was left out because the publisher was away does not count. */
export interface RecordingExtent {
  /** Seconds of media of the source rendition. */
  readonly durationS: number;
  /** Bytes of all renditions. */
  readonly sizeBytes: number;
  /** The wall-clock times at which the first frame and the end of the last frame were shown. Undefined while nothing is recorded. */
  readonly fromMs: Milliseconds | undefined;
  readonly untilMs: Milliseconds | undefined;
  readonly tracks: readonly RecordedTrack[];
}

/** Keeps one session. */
export interface Recorder extends PartSink {
  /** The extent of what is written by now. */
  readonly extent: RecordingExtent;
  /** Adds a picture of the session. */
  picture(picture: Picture): void;
  /**
   * Ends the recording. Resolves once everything is durable on this machine. Rejects when the disk does not allow that, and then the recording
   * ends when the server starts next, or when {@link Recorders.settle} is called.
   */
  end(): Promise<RecordingExtent>;
  /** Stops writing without an end, because the process ends and another one will continue. Resolves once everything is durable. */
  pause(): Promise<void>;
}

/** Makes recorders. */
export interface Recorders {
  /** Begins a recording, or continues the one with the same path that was paused or whose process was killed. */
  begin(request: RecordingRequest): Recorder;
  /**
   * Ends a recording whose session ended while no process recorded it.
   * @returns its extent; undefined when this machine has no file of it
   */
  settle(path: MediaPath): Promise<RecordingExtent | undefined>;
}

/** A span of a recording in wall-clock time of its media, the end excluded. Undefined bounds are those of the recording. */
export interface Excerpt {
  readonly fromMs?: Milliseconds | undefined;
  readonly untilMs?: Milliseconds | undefined;
}

/** Bytes that can be read in ranges. They never change. */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Reads `[from, until)` in pieces. Rejects when the machine or the object store does not deliver them. */
  read(from: number, until: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A file that exists nowhere, with a name that is the same for the same bytes. */
export interface VirtualFile extends ByteSource {
  readonly etag: string;
}

/** A recording as it can be read. */
export interface Recorded {
  readonly isRunning: boolean;
  readonly epoch: Milliseconds;
  readonly extent: RecordingExtent;
  /** The multivariant playlist of an excerpt. @param query appended to the URIs of media playlists, with its `?` */
  multivariant(query: string): string;
  /**
   * An EVENT playlist, which ends once the recording has. With a bound of the excerpt it is a clip: a VOD playlist of the segments that it needs.
   * @param options.skip whether the client takes delta updates
   * @param options.mediaUrl where the folder with the volumes can be read instead of at this server, if the recording does not run
   * @returns undefined when there is no such rendition, or nothing of it in the excerpt
   */
  playlist(
    rendition: string,
    excerpt: Excerpt,
    options: { readonly skip: boolean; readonly mediaUrl?: string | undefined },
  ): RenderedPlaylist | undefined;
  /**
   * The wall-clock time of what a player shows at a position of the playlist of an excerpt that begins at `fromMs`, by default that of all.
   * Pauses that were left out do not count.
   * @param positionS seconds; a position beyond the end is taken as the end
   */
  timeAt(positionS: number, fromMs?: Milliseconds): Milliseconds;
  /** The resource with a name in the playlist of an excerpt: `init-0.mp4`, `12.m4s`. Undefined for segments that the excerpt does not need. */
  media(
    rendition: string,
    name: string,
    excerpt: Excerpt,
  ): Promise<(ByteSource & { readonly contentType: string }) | undefined>;
  /**
   * An MP4 of a video rendition with the audio, or of the audio alone, exact to the frame. Its head is computed in a worker thread.
   * Undefined when there is no such rendition, or no frame in the excerpt.
   */
  mp4(rendition: string, excerpt: Excerpt): Promise<VirtualFile | undefined>;
  /**
   * The wall-clock time until which an MP4 of a rendition that still runs can be made: one that ends no later never changes, although the
   * recording grows. At most half a second before the newest part. Undefined when there is no such rendition, or nothing of it yet.
   */
  mp4End(rendition: string): Milliseconds | undefined;
  /**
   * The newest picture of the excerpt that was shown at a wall-clock time or before. By default, and before there is one, its first.
   * Undefined when the excerpt has none.
   */
  picture(excerpt: Excerpt, at?: Milliseconds): Promise<Uint8Array | undefined>;
  /**
   * The storyboard of an excerpt: WebVTT in the time of its playlist, whose cues name `sheet-<n>.jpg`. Undefined when the excerpt has no
   * tiles.
   */
  storyboard(excerpt: Excerpt): string | undefined;
  /** A sheet of the storyboard of an excerpt. The last sheet of a running recording grows. */
  sheet(excerpt: Excerpt, index: number): Promise<Uint8Array | undefined>;
}

/** Finds recordings. */
export interface Library {
  /** Opens a recording. Undefined when neither this machine nor the object store has it. A recording that is opened again is shared. */
  open(path: MediaPath): Promise<Recorded | undefined>;
}
