/**
 * The stream, which a customer creates, publishers send to by its key, and viewers watch by its playback id.
 */

import { type Milliseconds, ms } from '#lib/units.ts';
import type { SessionHealth } from './health.ts';
import { newPlaybackId, newStreamId, type PlaybackId, type StreamId, type UserId } from './ids.ts';
import type { PlaybackPolicy } from './playback-policy.ts';
import type { Profile } from './profile.ts';
import { newStreamKey, type Secret } from './secret.ts';

/** Tags that a customer puts on a stream. Millrace does not interpret them. */
export type UserTags = Readonly<Record<string, string | number | readonly (string | number)[]>>;

/** A stream as stored. */
export interface Stream {
  readonly id: StreamId;
  readonly userId: UserId;
  readonly name: string;
  readonly createdAt: Milliseconds;
  /** The key itself is stored, because its owner gets it with every read. Streams are looked up by the key's hash. */
  readonly streamKey: Secret;
  readonly playbackId: PlaybackId;
  /** The name that the API key had when it created this stream. */
  readonly createdByTokenName: string;
  readonly profiles: readonly Profile[];
  /** Whether media is being received now. */
  readonly isActive: boolean;
  /** When media was last received; 0 = never. */
  readonly lastSeen: Milliseconds;
  readonly suspended: boolean;
  /** Whether its sessions are to be recorded. */
  readonly record: boolean;
  /** The customer's own id of whoever created the stream. Millrace does not interpret it. */
  readonly creatorId: string | undefined;
  readonly userTags: UserTags | undefined;
  /** Who may watch it; undefined = everybody. */
  readonly playbackPolicy: PlaybackPolicy | undefined;
  /** When the API last disconnected its publisher. */
  readonly lastTerminatedAt: Milliseconds | undefined;
  /** How often the API has ended its broadcast. A publisher that was accepted at a lower count must be disconnected. */
  readonly terminations: number;
  /** Copy of the running session's {@link Session.health}. */
  readonly health: SessionHealth | undefined;
}

/** Makes a stream with ids and a key of its own, to which nothing has been published. */
export function newStream(
  given: Pick<Stream, 'userId' | 'name' | 'createdAt' | 'createdByTokenName' | 'profiles'>,
): Stream {
  return {
    ...given,
    id: newStreamId(),
    streamKey: newStreamKey(),
    playbackId: newPlaybackId(),
    isActive: false,
    lastSeen: ms(0),
    suspended: false,
    record: false,
    creatorId: undefined,
    userTags: undefined,
    playbackPolicy: undefined,
    lastTerminatedAt: undefined,
    terminations: 0,
    health: undefined,
  };
}
