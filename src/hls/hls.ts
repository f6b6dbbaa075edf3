/**
 * The contract of `hls`: a presentation takes a session's packets and gives playlists, init segments, segments and parts.
 * No HTTP here, and no wall clock: time comes in with the packets.
 */

import type { Milliseconds } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
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
  /** Set after a restart: the first segment continues an older playlist, after a discontinuity. */
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

/** What viewers see of a session: all its renditions. Written to by `live`, read by `origin`. */
export interface Presentation extends Disposable {
  /**
   * Adds a rendition, or gives an existing one a new configuration (a new init segment from the next mark on). One added
   * while others play begins at the segment of its first mark.
   * @param declaredBitrateBps what the publisher or the encoder's settings say; used for BANDWIDTH until it was measured
   * @param peakBitrateBps what its encoder keeps every segment below: then BANDWIDTH is that from the beginning, since players read
   * it once
   */
  setTrack(renditionId: string, track: Track, declaredBitrateBps: number | undefined, peakBitrateBps?: number): void;
  /**
   * Renditions that are on their way: before the presentation is shown, their first parts are waited for as well, for at
   * most a target duration of media. Players read the multivariant playlist once: one they got without these would keep them
   * on the source for as long as they watch.
   */
  expect(renditionIds: readonly string[]): void;
  /** Stops waiting for renditions that were expected but will not come. */
  unexpect(renditionIds: readonly string[]): void;
  /** A packet of a rendition, in session time; the first one of each segment is marked. */
  write(renditionId: string, packet: Packet): void;
  /**
   * Fills every rendition up to session time `untilS` (seconds) with gap parts and gap segments; called about once a part
   * target while nobody publishes. The packet that follows must be marked, with a discontinuity.
   * @returns the ordinal the next mark must have
   */
  fillGap(untilS: number): number;
  /** Ends every playlist with EXT-X-ENDLIST. Final. */
  end(): void;

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
