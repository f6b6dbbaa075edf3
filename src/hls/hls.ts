/**
 * The contract of `hls`: a presentation takes the sequence of a session and gives playlists, init segments, segments and parts. It knows no
 * HTTP and reads no clock: times come with the events.
 */
import type { Profile } from '#domain/profile.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { GapEvent, RenditionId, SessionOutput } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';

/** How far a segment may exceed the target duration, because EXTINF rounded to seconds must not exceed it (§4.4.3.1). */
export const TARGET_ROUNDING_S = 0.49;
/** How much longer than wanted a playlist may be, as a fraction, so that all playlists of a session can begin at the same segment. */
export const LONGER_BY = 0.25;
/** The smallest number of segments in a live playlist (Apple 8.13). */
export const LEAST_SEGMENTS = 6;

/**
 * The least length of live playlists, in seconds: the window, but more than the three target durations that every playlist must have, so
 * that shorter segments of one rendition do not make its playlist begin earlier than the others (rfc8216bis §6.2.2).
 */
export function wantedListS({ windowS, targetDurationS }: ListLimits): number {
  return Math.max(windowS, 4 * targetDurationS);
}

/** How long the media of ended playlists can be fetched, in seconds: for the length of the longest one and three more target durations. */
export function fetchableS(limits: ListLimits): number {
  const { targetDurationS } = limits;
  const longestS = Math.max(
    (1 + LONGER_BY) * wantedListS(limits),
    LEAST_SEGMENTS * (targetDurationS + TARGET_ROUNDING_S),
  );
  return longestS + 3 * targetDurationS;
}

type ListLimits = Pick<PresentationOptions, 'windowS' | 'targetDurationS'>;

/** The user that memory is charged to. */
export interface MemoryUser {
  readonly id: string;
  /** The most that all accounts of the user may hold together. Infinite without a limit. It may change at any time. */
  readonly quotaBytes: number;
}

/** The owner of an account, which can be asked to free memory. Neither method may take memory. */
export interface MemoryHolder {
  /** Frees some media that no playlist lists any more. @returns false when there is no such media */
  giveBackRetired(): boolean;
  /**
   * Ends the holder, and frees all its memory before it returns. Called when its user is above its share and another user needs the memory.
   */
  giveUp(): void;
}

/** The memory that one holder uses. Disposing the account frees all of it. */
export interface MemoryAccount extends Disposable {
  readonly usedBytes: number;
  /** Takes memory. Returns false, and takes nothing, when this account itself must free memory and has no retired media left. */
  take(sizeBytes: number): boolean;
  /** Frees memory that was taken. */
  give(sizeBytes: number): void;
}

/**
 * The memory for the media kept for viewers. Each user has a share of it, and may use what others leave free until they need it. When
 * memory is short, the largest account of the user furthest above its share must free some, and never one of a user within its share.
 */
export interface MediaMemory {
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** The bytes that the accounts of a user hold together. */
  usedBy(userId: MemoryUser['id']): number;
  /** Opens an account. */
  open(user: MemoryUser, holder: MemoryHolder): MemoryAccount;
  /** Whether one more session of this user would get memory, if necessary at the expense of users above their share. */
  hasRoomFor(user: MemoryUser): boolean;
}

/** The options of a presentation. */
export interface PresentationOptions {
  /** EXT-X-TARGETDURATION in whole seconds. Constant for the session. */
  readonly targetDurationS: number;
  /** How long a request is held for an answer, in milliseconds: three target durations by default (rfc8216bis §6.2.5.2). */
  readonly longestHoldMs?: number;
  /** The least length of the media that a live playlist lists, in seconds. See {@link wantedListS}. */
  readonly windowS: number;
  /** The media sequence number of the segment with ordinal 0. */
  readonly firstMediaSequence: number;
  /** EXT-X-DISCONTINUITY-SEQUENCE at the start. */
  readonly firstDiscontinuitySequence: number;
  /** The wall-clock time of session time 0, for EXT-X-PROGRAM-DATE-TIME. It never changes, so later steps of the clock have no effect. */
  readonly epoch: Milliseconds;
  /** The profiles of the session. Their renditions may begin at any time, because transcoders are limited and may become free late. */
  readonly profiles: readonly Pick<Profile, 'fps' | 'fpsDen'>[];
  /** Set after a restart of the server, when viewers may come before their publisher, with URLs from before the restart. */
  readonly continued: boolean;
  /** The path of the media playlists relative to `index.m3u8`, without a slash at the end: the session's media path. */
  readonly uriPrefix: string;
  /** The media memory, which all presentations of the process share. */
  readonly memory: MediaMemory;
  /** The user that the media is charged to. */
  readonly memoryUser: MemoryUser;
  /** Called once, when every rendition known by then has its first part. The session is live from then on. */
  readonly onFirstPart: () => void;
  /**
   * Called once, when this presentation has to free memory although it holds no media that is in no playlist. The session must then end.
   * When another session needed the memory, this presentation is already closed.
   */
  readonly onMemoryExhausted: () => void;
  /** Called with the error that a {@link PartSink} threw, after it was detached. */
  readonly onSinkFailed: (error: unknown) => void;
}

/** The directives of a blocking playlist request (rfc8216bis §6.2.5), already parsed. */
export interface PlaylistDirectives {
  readonly msn?: number;
  readonly part?: number;
  /** Whether `_HLS_skip` was given. */
  readonly skip?: boolean;
}

/** A playlist at one moment. Its text never changes, and all viewers share the same object. */
export interface RenderedPlaylist {
  readonly text: string;
  /** The text compressed with gzip, made at the first call and shared. */
  gzip(): Promise<Uint8Array>;
  readonly ended: boolean;
}

/**
 * How long a playlist remains a right answer to its request.
 * - `final`: the directives name one of the newest positions, which the playlist contains. It stays a right answer.
 * - `current`: the present state, for a request without directives.
 * - `unshared`: right at this moment, but the directives name an old position, which no player that keeps up requests. Any number may be
 *   named, so a cache that stored these answers would fill up.
 */
export type Validity = 'final' | 'current' | 'unshared';

/** The conditions under which a request waits for its answer. */
export interface Waiting {
  /**
   * Ends the wait when it aborts. It is read only when there is no answer yet, so that a getter can take one of a limited number of places
   * for held requests at that moment, and refuse by throwing.
   */
  readonly signal: AbortSignal;
}

/** The answer to a playlist request. */
export type PlaylistAnswer =
  | { readonly type: 'playlist'; readonly playlist: RenderedPlaylist; readonly validity: Validity }
  | { readonly type: 'bad_request'; readonly reason: string } // 400
  | { readonly type: 'timeout' } // 503: held for 3 target durations
  | { readonly type: 'not_found' };

/** The bytes of a media resource, in pieces so that a segment shares the bytes of its parts. */
export interface MediaResource {
  readonly pieces: readonly Uint8Array[];
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** The answer to a request for media. */
export type MediaAnswer =
  | { readonly type: 'media'; readonly resource: MediaResource }
  | { readonly type: 'timeout' }
  | { readonly type: 'not_found' };

/** The properties of a segment that are known when it begins. */
interface SegmentHead {
  readonly msn: number;
  /** The name of the init segment that it needs. */
  readonly init: string;
  readonly startS: number;
  /** The wall-clock time of its first sample. */
  readonly programDateTimeMs: number;
  /** Whether it does not continue the previous segment. */
  readonly discontinuity: boolean;
  /** Whether it begins with a frame that a decoder can start with. */
  readonly independent: boolean;
}

/**
 * What the packager has made of a rendition, in order. Bytes are shared with viewers and must not be changed. Times are seconds of session
 * time.
 */
export type Packaged =
  /** An init segment, before the first part that needs it. */
  | { readonly type: 'init'; readonly name: string; readonly track: Track; readonly bytes: Uint8Array }
  /** The beginning of a segment, before its first part. */
  | ({ readonly type: 'segment_start' } & SegmentHead)
  | {
      readonly type: 'part';
      /** The name of its resource, relative to the rendition. */
      readonly name: string;
      /** The media sequence number of its segment, and its index there. */
      readonly msn: number;
      readonly index: number;
      /** The name of the init segment that it needs. */
      readonly init: string;
      readonly startS: number;
      readonly durationS: number;
      /** Whether it contains a frame that a decoder can start with. */
      readonly independent: boolean;
      /** Whether all its media was missing, so that it consists of repeated frames, or of silence. */
      readonly isFilling: boolean;
      /** Its bytes, as viewers get them. Each piece may be a view of a much larger buffer. */
      readonly pieces: readonly Uint8Array[];
      readonly sizeBytes: number;
    }
  /** The end of a segment, which consists of its parts. */
  | ({ readonly type: 'segment'; readonly durationS: number; readonly sizeBytes: number } & SegmentHead)
  /** Media of this time is missing. The parts that fill it come next, with the newest keyframe repeated, or with silence. */
  | Omit<GapEvent, 'mark'>
  /** The end of the rendition. Nothing follows. */
  | { readonly type: 'end' };

/** Receives everything that is packaged, so that a recording has exactly what viewers were shown. */
export interface PartSink {
  /** Must return at once. A sink that throws is detached, without effect on others. */
  write(renditionId: RenditionId, packaged: Packaged): void;
}

/** Everything that viewers see of a session, in all its renditions. `live` writes to it, and `origin` reads it. */
export interface Presentation extends SessionOutput, Disposable {
  /**
   * Sets the transcoded renditions that the multivariant playlist lists. Before the presentation is shown, it waits for the first parts of
   * these renditions, for at most four seconds of media, because players read the multivariant playlist once and would otherwise stay on
   * the source, or without audio.
   */
  offer(renditionIds: readonly RenditionId[]): void;
  /**
   * Shows what there is, without waiting for any other rendition, because the publisher leaves. Without a first part nothing is shown, and
   * `onFirstPart` is not called.
   */
  showNow(): void;
  /**
   * Attaches a sink, which receives everything that is packaged from now on: first the init segments, then each rendition from its next
   * segment on. Disposing the result detaches the sink.
   */
  attach(sink: PartSink): Disposable;

  /** The multivariant playlist. Waits for the first part, for three target durations at most. Rejects with the signal's reason. */
  multivariant(waiting: Waiting): Promise<PlaylistAnswer>;
  /** A media playlist, held until it contains what the directives name. */
  playlist(renditionId: string, directives: PlaylistDirectives, waiting: Waiting): Promise<PlaylistAnswer>;
  /**
   * An init segment, segment or part by its name in a playlist (`init-0.mp4`, `12.m4s`, `12.3.m4s`). A part from a preload hint is held
   * until it is complete. The answer for any other name is `not_found`.
   */
  media(renditionId: string, name: string, waiting: Waiting): Promise<MediaAnswer>;
}
