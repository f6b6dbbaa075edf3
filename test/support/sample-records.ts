/**
 * Records for tests: complete and valid, each with ids of its own, so that a test states only what it is about.
 */
import {
  newApiKeyId,
  newMediaPath,
  newPlaybackId,
  newSessionId,
  newStreamId,
  newUserId,
  type UserId,
} from '#domain/ids.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { newApiKeySecret, newStreamKey } from '#domain/secret.ts';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { ApiKey, User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';

/** A user as a test needs one. */
export function someUser(change: Partial<User> = {}): User {
  return { id: newUserId(), name: newUserId(), createdAt: ms(1_700_000_000_000), ...change };
}

/** A key of a user. */
export function someKey(user: User, change: Partial<ApiKey> = {}): ApiKey {
  return {
    id: newApiKeyId(),
    userId: user.id,
    name: 'a key',
    secretHash: newApiKeySecret().hash(),
    createdAt: ms(1_700_000_000_001),
    revokedAt: undefined,
    ...change,
  };
}

/** A stream of a user. */
export function someStream(owner: UserId, change: Partial<Stream> = {}): Stream {
  return {
    id: newStreamId(),
    userId: owner,
    name: 'a stream',
    createdAt: ms(1_700_000_000_002),
    streamKey: newStreamKey(),
    playbackId: newPlaybackId(),
    createdByTokenName: 'a key',
    profiles: DEFAULT_PROFILES,
    isActive: false,
    lastSeen: ms(0),
    suspended: false,
    ...change,
  };
}

/** A session of a stream. */
export function someSession(stream: Stream, change: Partial<Session> = {}): Session {
  return {
    id: newSessionId(),
    streamId: stream.id,
    userId: stream.userId,
    playbackId: stream.playbackId,
    name: stream.name,
    createdByTokenName: stream.createdByTokenName,
    profiles: stream.profiles,
    phase: 'starting',
    createdAt: ms(1_700_000_000_003),
    lastSeen: ms(0),
    reconnectUntil: undefined,
    endedAt: undefined,
    endReason: undefined,
    mediaPath: newMediaPath(),
    restarts: 0,
    codecs: '',
    ...change,
  };
}
