/**
 * The session: one publish of a stream, reconnects within its window included, and the rule by which its phases change.
 */

import type { Milliseconds } from '#lib/units.ts';
import { unreachable } from '#lib/unreachable.ts';
import type { SessionHealth } from './health.ts';
import type { MediaPath, NodeId, PlaybackId, SessionId, StreamId, UserId } from './ids.ts';
import type { Profile } from './profile.ts';

/** The phases of a session, in their order; `live` and `reconnecting` may alternate. */
export const SESSION_PHASES = ['starting', 'live', 'reconnecting', 'ended'] as const;
/** One of {@link SESSION_PHASES}. */
export type SessionPhase = (typeof SESSION_PHASES)[number];

/** Why a session ended. */
export const END_REASONS = [
  'unpublished', // the publisher stopped publishing
  'reconnect_window_elapsed', // its connection was lost and it did not come back
  'replaced', // the publisher came back with other codecs, or profiles or record of the stream were changed: a new session began
  'no_media', // the publisher left before the first part
  'media_memory_exhausted', // no media memory was left for it, on the server or within its user's quota
  'ingest_bitrate_exceeded', // the publisher sent more than its user may
  'timestamps_unusable', // the publisher's timestamps jumped again and again for too long
  'internal_error', // an error in the server's own code
  'terminated', // disconnected by the API or the operator
  'suspended', // disconnected because the stream or its user was suspended
  'deleted', // disconnected because the stream was deleted
  'key_rotated', // disconnected because the publisher used the key that the stream had before
  'node_lost', // the process that owned it is gone
] as const;
/** One of {@link END_REASONS}. */
export type EndReason = (typeof END_REASONS)[number];

/** The state of a session. */
export type SessionState =
  | { readonly phase: 'starting' } // accepted, nothing to play yet
  | { readonly phase: 'live'; readonly since: Milliseconds } // parts are in the playlist and a publisher is sending
  | { readonly phase: 'reconnecting'; readonly until: Milliseconds } // connection lost; playlists go on with a still frame and silence
  | { readonly phase: 'ended'; readonly at: Milliseconds; readonly reason: EndReason };

/** What can happen to a session. */
export type SessionInput =
  | { readonly type: 'first_part'; readonly at: Milliseconds }
  | { readonly type: 'connection_lost'; readonly until: Milliseconds }
  | { readonly type: 'publisher_returned'; readonly at: Milliseconds }
  | { readonly type: 'end'; readonly at: Milliseconds; readonly reason: EndReason };

/**
 * The only rule by which a session's state changes. `ended` is final, and an input that does not apply changes nothing.
 * A session whose connection is lost before its first part has no viewers to wait for it: its owner ends it.
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

/** The media that a session has received and produced so far. Sizes are in bytes, durations in seconds of media. */
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

/** The totals of a session that has just begun. */
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
  /** When media was last received. At first, when the session began. */
  readonly lastSeen: Milliseconds;
  /** When the reconnect window closes; set while `reconnecting`. */
  readonly reconnectUntil: Milliseconds | undefined;
  readonly endedAt: Milliseconds | undefined;
  readonly endReason: EndReason | undefined;
  /** The random folder in the URLs of its media; the same after a restart. */
  readonly mediaPath: MediaPath;
  /** How often another process has resumed the session. It is the base of its media sequence and discontinuity numbers. */
  readonly restarts: number;
  /** The node it runs on, or ran on last. */
  readonly nodeId: NodeId;
  readonly record: boolean;
  /** The random folder of its recording, which outlives the session's own media. Undefined unless it is recorded. */
  readonly recordingPath: MediaPath | undefined;
  /** {@link Stream.terminations} when the session began: once the stream has more, the session must end. */
  readonly terminations: number;
  /** The totals when they were last written. Those of a running session in memory are newer. */
  readonly totals: SessionTotals;
  /** The number of viewers when it was last written; 0 once it has ended. */
  readonly viewers: number;
  /** The health that its node wrote last, for nodes on which it does not run; undefined while no media is received. */
  readonly health: SessionHealth | undefined;
  /**
   * The codecs of its tracks as in `CODECS` of a playlist, sorted and comma-separated; empty until known. A publisher whose codecs are
   * others does not continue the session.
   */
  readonly codecs: string;
}
