/**
 * The contract of `hls`: a presentation takes the sequence of a session and gives playlists, init segments, segments and parts.
 * No HTTP here, and no wall clock: time comes in with the events.
 */
import type { Milliseconds } from '#lib/units.ts';
import type { GapEvent, RenditionId, SessionOutput } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';

/** How far a segment may exceed the target duration: EXTINF rounded to seconds must not (§4.4.3.1). */
export const TARGET_ROUNDING_S = 0.49;

/** The user that memory is charged to. */
export interface MemoryUser {
  readonly id: string;
  /** The most that all accounts of the user may hold together; infinite without a limit. It may change at any time. */
  readonly quotaBytes: number;
}

/** The owner of an account, which can be asked to make room. Neither method may take memory. */
export interface MemoryHolder {
  /** Gives back some media that no playlist names any more. @returns false when it holds no such media */
  giveBackRetired(): boolean;
  /** Ends the holder and gives back all its memory before returning: its user is above its share, and another user needs the room. */
  giveUp(): void;
}

/** The memory that one holder uses. Disposing it gives all of it back. */
export interface MemoryAccount extends Disposable {
  readonly usedBytes: number;
  /** Takes memory; false, and nothing taken, when this account itself must make room and has no retired media left. */
  take(sizeBytes: number): boolean;
  /** Gives back what was taken. */
  give(sizeBytes: number): void;
}

/**
 * The memory for the media kept for viewers. Each user has a share of it, and may use what others leave free until they need it. When
 * memory is short, the largest account of the user furthest above its share makes room, never one of a user within its share.
 */
export interface MediaMemory {
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** What the accounts of a user hold together, in bytes. */
  usedBy(userId: MemoryUser['id']): number;
  /** Opens an account. */
  open(user: MemoryUser, holder: MemoryHolder): MemoryAccount;
  /** Whether one more session of this user would find room, if need be at the expense of users above their share. */
  hasRoomFor(user: MemoryUser): boolean;
}

/** What a presentation is made with. */
export interface PresentationOptions {
  /** EXT-X-TARGETDURATION in whole seconds; constant for the session. */
  readonly targetDurationS: number;
  /** How much content a live playlist lists, in seconds. */
  readonly windowS: number;
  /** Media sequence number of segment ordinal 0. */
  readonly firstMediaSequence: number;
  /** EXT-X-DISCONTINUITY-SEQUENCE at the start. */
  readonly firstDiscontinuitySequence: number;
  /** Wall-clock time of session time 0, for EXT-X-PROGRAM-DATE-TIME. Fixed: a later step of the clock does not show. */
  readonly epoch: Milliseconds;
  /** Set after a restart of the server: viewers may come before their publisher, with names they know from before. */
  readonly continued: boolean;
  /** Where the media playlists lie, relative to `index.m3u8`, without a slash at the end: the session's media path. */
  readonly uriPrefix: string;
  /** The media memory, which all presentations of the process share. */
  readonly memory: MediaMemory;
  /** The user that the media it keeps is charged to. */
  readonly memoryUser: MemoryUser;
  /** Called once, when every rendition known by then has its first part: the session is live. */
  readonly onFirstPart: () => void;
  /**
   * Called once, when memory is short and this presentation has to make room although it has given back all media that no playlist names:
   * the session must end. When another session needed the room, this presentation is already closed.
   */
  readonly onMemoryExhausted: () => void;
  /** Called with what a {@link PartSink} threw. It is detached by then. */
  readonly onSinkFailed: (error: unknown) => void;
}

/** The directives of a blocking playlist request (rfc8216bis §6.2.5), already parsed. */
export interface PlaylistDirectives {
  readonly msn?: number;
  readonly part?: number;
  /** `_HLS_skip` was given. */
  readonly skip?: boolean;
}

/** A playlist as it stood at one moment. Its text never changes; the same object is shared by every viewer. */
export interface RenderedPlaylist {
  readonly text: string;
  /** The same text gzipped, made at the first call and shared. */
  gzip(): Promise<Uint8Array>;
  readonly ended: boolean;
}

/**
 * How long a playlist remains a right answer to the request it was made for.
 * - `final`: the directives name one of the newest positions, and the playlist contains it. That remains true.
 * - `current`: the state of this moment, for a request without directives.
 * - `unshared`: right at this moment, but the directives name an old position, for which no player that keeps up asks. Any number can be
 *   named there, so a cache that kept these answers would fill up with them.
 */
export type Validity = 'final' | 'current' | 'unshared';

/** How long a request may wait for its answer. */
export interface Waiting {
  /**
   * Ends the wait when it aborts. It is read only when there is no answer yet, so a getter can take one of a limited number of places for
   * held requests at that moment, and refuse it by throwing.
   */
  readonly signal: AbortSignal;
}

/** The answer to a playlist request. */
export type PlaylistAnswer =
  | { readonly type: 'playlist'; readonly playlist: RenderedPlaylist; readonly validity: Validity }
  | { readonly type: 'bad_request'; readonly reason: string } // 400
  | { readonly type: 'timeout' } // 503: held for 3 target durations
  | { readonly type: 'not_found' };

/** Bytes of a media resource, in pieces so that a segment shares the bytes of its parts. */
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

/** What was packaged of a rendition, in order. Bytes are shared with viewers, and must stay as they are. Times are session time, in seconds. */
export type Packaged =
  /** An init segment, before the first part that needs it. */
  | { readonly type: 'init'; readonly name: string; readonly track: Track; readonly bytes: Uint8Array }
  | {
      readonly type: 'part';
      /** Name of its resource, relative to the rendition. */
      readonly name: string;
      /** Media sequence number of its segment, and its place there. */
      readonly msn: number;
      readonly index: number;
      /** Name of the init segment it needs. */
      readonly init: string;
      /** Decoding time of its first sample. */
      readonly startS: number;
      readonly durationS: number;
      /** It contains a frame a decoder can start with. */
      readonly independent: boolean;
      readonly bytes: Uint8Array;
    }
  /** The end of a segment, which is its parts one after the other. */
  | {
      readonly type: 'segment';
      readonly msn: number;
      readonly init: string;
      readonly startS: number;
      readonly durationS: number;
      readonly sizeBytes: number;
      /** Wall-clock time of its first sample. */
      readonly programDateTimeMs: number;
      /** It does not continue the segment before. */
      readonly discontinuity: boolean;
      /** It begins with a frame a decoder can start with. */
      readonly independent: boolean;
    }
  /** Media of this time is missing: the parts of this time have a repeated frame, or silence. */
  | Omit<GapEvent, 'mark'>
  /** Nothing follows. */
  | { readonly type: 'end' };

/** Takes everything that is packaged: what it keeps is what viewers were shown. */
export interface PartSink {
  /** Must return at once. A sink that throws is detached, and nobody else notices. */
  write(renditionId: RenditionId, packaged: Packaged): void;
}

/** What viewers see of a session: all its renditions. Written to by `live`, read by `origin`. */
export interface Presentation extends SessionOutput, Disposable {
  /**
   * Tells which renditions viewers may begin with, besides the source's own. A new viewer is offered no other one, and before the
   * presentation is shown, the first parts of those that are still to come are waited for, for at most four seconds of media: players read
   * the multivariant playlist once, and without these they would stay on the source, or without audio, for as long as they watch.
   */
  offer(renditionIds: readonly RenditionId[]): void;
  /**
   * Hands everything that is packaged from now on to a sink, too: first the init segments, then each rendition from its next segment on.
   * Disposing the result detaches the sink.
   */
  attach(sink: PartSink): Disposable;

  /** The multivariant playlist: waits for the first part, three target durations at most; rejects with the signal's reason. */
  multivariant(waiting: Waiting): Promise<PlaylistAnswer>;
  /** A media playlist, held until what the directives name is in it. */
  playlist(renditionId: string, directives: PlaylistDirectives, waiting: Waiting): Promise<PlaylistAnswer>;
  /**
   * An init segment, segment or part by the name a playlist gave it (`init-0.mp4`, `12.m4s`, `12.3.m4s`). A hinted part
   * is held until it is whole; anything never named is `not_found`.
   */
  media(renditionId: string, name: string, waiting: Waiting): Promise<MediaAnswer>;
  /** Measured rates and sizes, for metrics and health. */
  readonly stats: { readonly mediaBytes: number; readonly lastMediaSequence: number };
}
