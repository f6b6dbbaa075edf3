/**
 * The session: one publish of a stream, reconnects within its window included. Its phases and how they follow one another.
 */

import type { Milliseconds } from '#lib/units.ts';
import { unreachable } from '#lib/unreachable.ts';
import type { MediaPath, NodeId, PlaybackId, SessionId, StreamId, UserId } from './ids.ts';
import type { Profile } from './profile.ts';

/** The phases of a session, in their order; `live` and `reconnecting` may alternate. */
export const SESSION_PHASES = ['starting', 'live', 'reconnecting', 'ended'] as const;
/** One of {@link SESSION_PHASES}. */
export type SessionPhase = (typeof SESSION_PHASES)[number];

/** Why a session ended. */
export const END_REASONS = [
  'unpublished', // the publisher said so
  'reconnect_window_elapsed', // its connection was lost and it did not come back
  'replaced', // the publisher came back with other codecs, or to other profiles: a new session
  'no_media', // the publisher left before the first part
  'media_memory_exhausted', // no media memory was left for it, on the server or within its user's quota
  'ingest_bitrate_exceeded', // the publisher sent more than its user may
  'timestamps_unusable', // the publisher's timestamps jumped again and again for too long
  'internal_error', // an error in the server's own code
  'terminated', // disconnected by the API or the operator
  'suspended', // disconnected because the stream or its user was suspended
  'deleted', // disconnected because the stream was deleted
  'key_rotated', // cut because it published with the key the stream had before
  'node_lost', // the process that owned it is gone
] as const;
/** One of {@link END_REASONS}. */
export type EndReason = (typeof END_REASONS)[number];

/** Where a session stands. */
export type SessionState =
  | { readonly phase: 'starting' } // accepted, nothing to play yet
  | { readonly phase: 'live'; readonly since: Milliseconds } // parts are in the playlist and a publisher is sending
  | { readonly phase: 'reconnecting'; readonly until: Milliseconds } // connection lost; the playlist goes on with gaps
  | { readonly phase: 'ended'; readonly at: Milliseconds; readonly reason: EndReason };

/** What can happen to a session. */
export type SessionInput =
  | { readonly type: 'first_part'; readonly at: Milliseconds }
  | { readonly type: 'connection_lost'; readonly until: Milliseconds }
  | { readonly type: 'publisher_returned'; readonly at: Milliseconds }
  | { readonly type: 'end'; readonly at: Milliseconds; readonly reason: EndReason };

/**
 * The only rule by which a session's state changes. `ended` is final; an input that does not apply changes nothing.
 * A connection lost before the first part ends the session: there is nothing a viewer could be kept waiting on.
 */
export function nextSessionState(state: SessionState, input: SessionInput): SessionState {
  if (state.phase === 'ended') return state;
  switch (input.type) {
    case 'first_part':
      return state.phase === 'starting' ? { phase: 'live', since: input.at } : state;
    case 'connection_lost':
      return state.phase === 'live' ? { phase: 'reconnecting', until: input.until } : state;
    case 'publisher_returned':
      return state.phase === 'reconnecting' ? { phase: 'live', since: input.at } : state;
    case 'end':
      return { phase: 'ended', at: input.at, reason: input.reason };
    default:
      return unreachable(input);
  }
}

/** What a session has taken in and put out so far; sizes are bytes, times seconds of media. */
export interface SessionTotals {
  readonly sourceBytes: number;
  readonly sourceSegments: number;
  readonly sourceSegmentsDuration: number;
  readonly transcodedBytes: number;
  readonly transcodedSegments: number;
  readonly transcodedSegmentsDuration: number;
  /** Most viewers at one time. */
  readonly peakViewers: number;
}

/** Of a session that has just begun. */
export const NO_TOTALS: SessionTotals = {
  sourceBytes: 0,
  sourceSegments: 0,
  sourceSegmentsDuration: 0,
  transcodedBytes: 0,
  transcodedSegments: 0,
  transcodedSegmentsDuration: 0,
  peakViewers: 0,
};

/** A session as stored: what must outlive the process that owns it. */
export interface Session {
  readonly id: SessionId;
  readonly streamId: StreamId;
  readonly userId: UserId;
  readonly playbackId: PlaybackId;
  /** The stream's name when the session began. */
  readonly name: string;
  readonly createdByTokenName: string;
  readonly profiles: readonly Profile[];
  readonly phase: SessionPhase;
  readonly createdAt: Milliseconds;
  /** When media last came in; 0 = never. */
  readonly lastSeen: Milliseconds;
  /** When the reconnect window closes; set while `reconnecting`. */
  readonly reconnectUntil: Milliseconds | undefined;
  readonly endedAt: Milliseconds | undefined;
  readonly endReason: EndReason | undefined;
  /** Random folder of its media; the same after a restart. */
  readonly mediaPath: MediaPath;
  /** How often another process took the session up again: the base of its media sequence and discontinuity numbers. */
  readonly restarts: number;
  /** The node it runs on, or ran on last. */
  readonly nodeId: NodeId;
  readonly record: boolean;
  /** {@link Stream.terminations} when the session began: once the stream has more, the session must end. */
  readonly terminations: number;
  /** As far as they have been written; what runs knows better. */
  readonly totals: SessionTotals;
  /** Viewers when it was last written; 0 once it has ended. */
  readonly viewers: number;
  /** JSON text of its health when that was last written, for processes it does not run in; undefined while no media is coming in. */
  readonly health: string | undefined;
  /** `CODECS` of its tracks, sorted, comma-separated: a publisher continues the session only with the same; empty until known. */
  readonly codecs: string;
}
