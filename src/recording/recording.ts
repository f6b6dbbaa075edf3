/**
 * The contract of `recording`. `live` hands every session that is recorded to a {@link Recorder}, which receives the parts that viewers
 * get. `origin` reads through the {@link Library}, in the same way from running recordings and from those that have ended.
 *
 * Nothing here ever holds up live media: all file I/O is done by worker threads with bounded queues.
 */
import type { AssetExtent, AssetTrack } from '#domain/asset.ts';
import type { MediaPath, SessionId, UserId } from '#domain/ids.ts';
import type { PartSink, RenderedPlaylist } from '#hls/hls.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Picture } from '#media/picture.ts';

/** A session that is to be recorded. */
export interface RecordingRequest {
  readonly sessionId: SessionId;
  /** The owner, whose quota bounds all recordings together. */
  readonly userId: UserId;
  /** The name of the folder of its files, and its name in URLs: `Asset.path`. */
  readonly path: MediaPath;
  /** The wall-clock time of session time 0. */
  readonly epoch: Milliseconds;
  readonly targetDurationS: number;
  /** Whether an earlier process has recorded media of it, so that its files must be found. */
  readonly isContinued: boolean;
  /** Raises or clears a warning of the session. */
  readonly warn: (code: RecordingWarning, isRaised: boolean) => void;
}

/** The warnings of a session that a recorder raises and clears. */
export type RecordingWarning =
  | 'recording_behind'
  | 'recording_stopped'
  | 'recording_limit_reached'
  | 'recording_upload_failing'
  | 'recording_over_quota';

/** A track of a recording, as its asset shows it. */
export interface RecordedTrack extends AssetTrack {
  /** The RFC 6381 name for `CODECS`. */
  readonly rfc6381: string;
}

/** How much media a recording has, and its tracks as playlists state them. */
export interface RecordingExtent extends AssetExtent {
  readonly tracks: readonly RecordedTrack[];
}

/** Records one session. */
export interface Recorder extends PartSink {
  /** The extent of the media that has been written. */
  readonly extent: RecordingExtent;
  /** Adds a picture of the session. It is dropped while the disk does not keep up. */
  picture(picture: Picture): void;
  /**
   * Ends the recording. Resolves once everything is durable on this machine. Rejects when the disk fails or does not answer in time. Then
   * {@link Recorders.settle} must be called later to end the recording. A second call joins the first.
   */
  end(): Promise<RecordingExtent>;
  /**
   * Stops writing without ending the recording, because this process exits and another one will continue. Resolves once everything is
   * durable. Rejects when the disk fails or does not answer in time.
   */
  pause(): Promise<void>;
}

/** Makes recorders. */
export interface Recorders {
  /** Begins a recording, or continues the one with the same path that was paused or whose process was killed. */
  begin(request: RecordingRequest): Recorder;
  /**
   * Ends a recording whose session has ended, and that no recorder could end, because the disk failed or the process was killed. Not to be
   * called while a recorder of this process writes it.
   * @returns its extent; undefined when this machine has no file of it
   * @throws {Error} when the disk fails or does not answer in time. In the second case the work goes on, and the next call waits for it
   */
  settle(path: MediaPath): Promise<RecordingExtent | undefined>;
}

/** A span of a recording in wall-clock time of its media, the end excluded. A bound that is left out is that of the recording. */
export interface Excerpt {
  readonly fromMs?: Milliseconds | undefined;
  readonly untilMs?: Milliseconds | undefined;
}

/** Bytes that can be read in ranges. They do not change. */
export interface ByteSource {
  readonly sizeBytes: number;
  /**
   * Reads `[from, until)` in pieces, each when it is asked for.
   * @throws {MillraceError} `recording_unavailable` when the disk or the object store does not deliver them; the signal's reason
   */
  read(from: number, until: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A segment or init segment of a recording. */
export interface RecordedMedia extends ByteSource {
  readonly contentType: string;
  /** The ETag without quotation marks. Other bytes under the same name have another one; see {@link isFinal}. */
  readonly etag: string;
  /**
   * Whether the name will always stand for these bytes. After a power failure a running recording continues with the number after the last
   * segment that was durable, so a new segment may get the name of one that viewers already have.
   */
  readonly isFinal: boolean;
  /** The duration of the media in milliseconds. 0 for an init segment, and for a segment that is listed as a gap. */
  readonly durationMs: number;
}

/** A file that is stored nowhere: its bytes are put together while it is read. */
export interface VirtualFile extends ByteSource {
  /** The same for the same bytes, without quotation marks. */
  readonly etag: string;
  /** Aborts when the memory of what is being read was given to another network. Reading must then end. */
  readonly lost: AbortSignal;
}

/** The viewer that an MP4 is for. */
export interface MovieViewer {
  readonly address: string;
  /** Waits for the viewer's turn, and then runs work that makes the head of an MP4. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** A recording that is open for reading. */
export interface Recorded {
  /** Whether it may still grow. */
  readonly isRunning: boolean;
  /** The wall-clock time of session time 0. */
  readonly epoch: Milliseconds;
  readonly extent: RecordingExtent;
  /** The multivariant playlist. @param query appended to the URIs of the media playlists: empty, or with its `?` */
  multivariant(query: string): string;
  /**
   * Prepares the playlist of a rendition in small pieces. Call it before {@link Recorded.playlist}, which then does not block the event
   * loop, even for a day of media.
   */
  prepare(rendition: string): Promise<void>;
  /**
   * Waits until the playlists of an excerpt up to the present list all of the excerpt, for two target durations at most. Resolves at once
   * for an excerpt that is complete, and for one whose end is still in the future.
   * @throws the signal's reason
   */
  completed(excerpt: Excerpt, signal: AbortSignal): Promise<void>;
  /**
   * The media playlist of a rendition: an EVENT playlist of the whole recording, which ends when the recording has ended. For an excerpt
   * with a bound it has the segments that the excerpt needs: an EVENT playlist while the recording runs, which ends once the excerpt is
   * complete, and a VOD playlist afterwards.
   * @param options.skip whether the client accepts a delta update
   * @param options.hasEnded whether a recording is to be shown as ended although it may still grow, because its session has ended and the
   *   machine with the rest of it is gone
   * @returns undefined when there is no such rendition, or nothing of it in the excerpt
   */
  playlist(
    rendition: string,
    excerpt: Excerpt,
    options: { readonly skip: boolean; readonly hasEnded?: boolean },
  ): RenderedPlaylist | undefined;
  /**
   * Makes a media playlist for players that read the media from another place than this server. It is made in small pieces. While the
   * recording runs, the given playlist is returned.
   * @param playlist what {@link Recorded.playlist} has returned for the rendition
   * @param mediaUrl the URL of the folder with the volumes, without a slash at the end. Always the same for a recording
   */
  publicPlaylist(rendition: string, playlist: RenderedPlaylist, mediaUrl: string): Promise<RenderedPlaylist>;
  /**
   * The wall-clock time of the frame at a position. Pauses that were left out of the recording do not count.
   * @param positionS in seconds, counted from `fromMs`. A position after the end is taken as the end
   * @param fromMs the start of the excerpt; by default that of the recording
   */
  timeAt(positionS: number, fromMs?: Milliseconds): Milliseconds;
  /**
   * The init segment or segment with a name, such as `init-0.mp4` or `12.m4s`. Undefined when the playlist of the excerpt has no such name.
   */
  media(rendition: string, name: string, excerpt: Excerpt): Promise<RecordedMedia | undefined>;
  /**
   * An MP4 of an excerpt, exact to the frame: a video rendition with the audio, or the audio alone. Its head is computed in a worker
   * thread. Undefined when there is no such rendition, or no frame in the excerpt. Reading it throws `too_many_viewers` when there is no
   * memory for its head.
   * @throws {MillraceError} `recording_unavailable` when the index cannot be read now; the errors of `inTurn`
   */
  mp4(rendition: string, excerpt: Excerpt, viewer: MovieViewer): Promise<VirtualFile | undefined>;
  /**
   * The latest wall-clock time at which an MP4 of a running recording may end. An MP4 that ends at this time or earlier does not change,
   * although the recording grows. It is at most half a second before the end of the newest part. Undefined when there is no such rendition,
   * or nothing of it yet.
   */
  mp4End(rendition: string): Milliseconds | undefined;
  /**
   * The newest picture of the excerpt that was shown at a wall-clock time or before, as a JPEG. Without a time, and when there is no such
   * picture, it is the first of the excerpt. When none was made, it is that of a keyframe. Undefined when this cannot be decoded.
   * @throws {MillraceError} `recording_unavailable` when it cannot be read now
   */
  picture(excerpt: Excerpt, at?: Milliseconds): Promise<Uint8Array | undefined>;
  /**
   * The storyboard of an excerpt: WebVTT whose times are positions in the playlist of the excerpt, and whose cues name `sheet-<n>.jpg`.
   * Undefined when the excerpt has no tiles.
   */
  storyboard(excerpt: Excerpt): string | undefined;
  /**
   * A sheet of the storyboard, as a JPEG. Undefined when there is no sheet with this index. The last sheet of a running recording grows.
   */
  sheet(excerpt: Excerpt, index: number): Promise<Uint8Array | undefined>;
}

/** Finds recordings. */
export interface Library {
  /**
   * Opens a recording. Undefined when neither this machine nor the object store has it. The result is shared by all who open the same one,
   * and need not be closed.
   * @param isStored whether the object store is known to have all of it, so that an earlier state of it must not be used
   * @param address the address of the viewer. Networks take turns to have long indexes fetched
   * @throws {MillraceError} `recording_unavailable` when it cannot be read now
   */
  open(path: MediaPath, isStored?: boolean, address?: string): Promise<Recorded | undefined>;
}
