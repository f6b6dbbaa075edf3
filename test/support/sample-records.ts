/**
 * Records for tests: complete and valid, each with ids of its own, so that a test states only what it is about.
 */
import type { AuditEntry } from '#domain/audit.ts';
import {
  newApiKeyId,
  newAuditId,
  newMediaPath,
  newNodeId,
  newPlaybackId,
  newSessionId,
  newStreamId,
  newUserId,
  type UserId,
} from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { newApiKeySecret, newStreamKey } from '#domain/secret.ts';
import { NO_TOTALS, type Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { ApiKey, User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import type { Receipt } from '#store/store.ts';

/** The node sample sessions run on. */
export const SOME_NODE = newNodeId();

/** A user as a test needs one. */
export function someUser(change: Partial<User> = {}): User {
  return {
    id: newUserId(),
    name: newUserId(),
    createdAt: ms(1_700_000_000_000),
    isAdmin: false,
    suspended: false,
    ...change,
  };
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
    access: undefined,
    lastSeen: ms(0),
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
    record: false,
    creatorId: undefined,
    userTags: undefined,
    lastTerminatedAt: undefined,
    health: undefined,
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
    nodeId: SOME_NODE,
    record: stream.record,
    totals: NO_TOTALS,
    viewers: 0,
    health: undefined,
    codecs: '',
    ...change,
  };
}

/** A node of its own. */
export function someNode(change: Partial<ServiceNode> = {}): ServiceNode {
  return { id: newNodeId(), url: 'http://127.0.0.1:8080', ...change };
}

/** An entry of the audit log, as of the command line. */
export function someAudit(change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: newAuditId(),
    at: ms(1_700_000_000_004),
    actor: undefined,
    action: 'stream.created',
    resourceId: newStreamId(),
    fields: [],
    remoteAddress: undefined,
    requestId: undefined,
    ...change,
  };
}

/** A receipt without an answer. */
export const someReceipt = (change: Partial<AuditEntry> = {}): Receipt => ({ audit: someAudit(change) });
