/**
 * The stream: what a customer creates, publishes to with its key and is watched by its playback id.
 */

import { type Milliseconds, ms } from '#lib/units.ts';
import { newPlaybackId, newStreamId, type PlaybackId, type StreamId, type UserId } from './ids.ts';
import type { Profile } from './profile.ts';
import { newStreamKey, type Secret } from './secret.ts';

/** What a customer notes on a stream; never looked into. */
export type UserTags = Readonly<Record<string, string | number | readonly (string | number)[]>>;

/** A stream as stored. */
export interface Stream {
  readonly id: StreamId;
  readonly userId: UserId;
  readonly name: string;
  readonly createdAt: Milliseconds;
  /** Shown to its owner on every read, so it is kept as it is; looked up by its hash. */
  readonly streamKey: Secret;
  readonly playbackId: PlaybackId;
  /** The API key's name when it created this stream. */
  readonly createdByTokenName: string;
  readonly profiles: readonly Profile[];
  /** Media is coming in right now. */
  readonly isActive: boolean;
  /** When media last came in; 0 = never. */
  readonly lastSeen: Milliseconds;
  readonly suspended: boolean;
  /** Whether its sessions are to be recorded. */
  readonly record: boolean;
  /** Who made it, in the customer's own words. */
  readonly creatorId: string | undefined;
  readonly userTags: UserTags | undefined;
  /** When the API last disconnected its publisher. */
  readonly lastTerminatedAt: Milliseconds | undefined;
  /** How often the API has ended its broadcast. A publisher that was accepted at a lower count must be disconnected. */
  readonly terminations: number;
  /** Copy of the running session's `health`. */
  readonly health: string | undefined;
}

/** A stream as it is when it is made, with ids and a key of its own: nobody has published to it. */
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
    lastTerminatedAt: undefined,
    terminations: 0,
    health: undefined,
  };
}
