/**
 * Records for tests. Each is complete, valid and has ids of its own, so that a test states only the fields that matter to it.
 */
import type { Asset, AssetExtent } from '#domain/asset.ts';
import type { AuditEntry } from '#domain/audit.ts';
import type { SessionHealth } from '#domain/health.ts';
import type { HealthSample } from '#domain/health-sample.ts';
import {
  newApiKeyId,
  newAuditId,
  newClipId,
  newMediaPath,
  newNodeId,
  newPlaybackId,
  newStreamId,
  newUserId,
  newWebhookId,
  type UserId,
} from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { QUOTA_NAMES, type Quotas } from '#domain/quotas.ts';
import { newApiKeySecret } from '#domain/secret.ts';
import type { Session } from '#domain/session.ts';
import { newStream, type Stream } from '#domain/stream.ts';
import type { ApiKey, User } from '#domain/user.ts';
import { newSharedSecret, type Webhook } from '#domain/webhook.ts';
import { ms } from '#lib/units.ts';
import { newSession } from '#live/new-session.ts';
import type { Receipt } from '#store/receipt.ts';

/** The node on which sample sessions run. */
export const SOME_NODE = newNodeId();

/** A user. */
export function someUser(change: Partial<User> = {}): User {
  return {
    id: newUserId(),
    name: newUserId(),
    createdAt: ms(1_700_000_000_000),
    isAdmin: false,
    suspended: false,
    quotas: {},
    ...change,
  };
}

/** Quotas without limits, except those that a test names. */
export function someQuotas(limits: Partial<Quotas> = {}): Quotas {
  return { ...(Object.fromEntries(QUOTA_NAMES.map((name) => [name, 0])) as Quotas), ...limits };
}

/** A sample of a session. */
export function someSample(change: Partial<HealthSample> = {}): HealthSample {
  return {
    at: ms(1_700_000_060_000),
    durationMs: 5000,
    bitrateBps: { min: 1000, mean: 2000, max: 3000 },
    framesPerSecond: 30,
    longestGapS: 0.04,
    keyframeIntervalS: 2,
    speed: 1,
    driftS: 0.01,
    lagMs: 12,
    viewers: 3,
    renditions: ['running'],
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
  const given = { userId: owner, name: 'a stream', createdByTokenName: 'a key', profiles: DEFAULT_PROFILES };
  return { ...newStream({ ...given, createdAt: ms(1_700_000_000_002) }), ...change };
}

/** A session of a stream. */
export function someSession(stream: Stream, change: Partial<Session> = {}): Session {
  return { ...newSession(stream, SOME_NODE, ms(1_700_000_000_003)), lastSeen: ms(0), ...change };
}

/** The extent of a recording of a minute. */
export const SOME_EXTENT: AssetExtent = {
  durationS: 61.5,
  sizeBytes: 2 ** 40,
  fromMs: ms(1_700_000_000_100),
  untilMs: ms(1_700_000_061_600),
  tracks: [
    { kind: 'video', rendition: 'source', codec: 'h264', bitrateBps: 3_000_000, width: 1280, height: 720, fps: 29.97 },
    { kind: 'audio', rendition: 'audio', codec: 'aac', bitrateBps: 128_000, channels: 2, sampleRate: 48_000 },
  ],
};

/** A clip of the recording of a session. */
export function someClip(session: Session, change: Partial<Asset> = {}): Asset {
  return {
    ...SOME_EXTENT,
    id: newClipId(),
    kind: 'clip',
    userId: session.userId,
    streamId: session.streamId,
    sessionId: session.id,
    playbackId: newPlaybackId(),
    path: newMediaPath(),
    mediaPath: session.recordingPath ?? newMediaPath(),
    clippedFrom: session.playbackId,
    name: 'a clip',
    creatorId: undefined,
    createdAt: ms(1_700_000_050_000),
    updatedAt: ms(1_700_000_050_000),
    phase: 'ready',
    failure: undefined,
    nodeId: session.nodeId,
    isStored: false,
    playbackPolicy: undefined,
    ...change,
  };
}

/** The health of a session that is transcoded. */
export function someHealth(change: Partial<SessionHealth> = {}): SessionHealth {
  const rates = { framesPerSecond: 25, bitrateBps: 800_000 };
  return {
    encoder: 'Lavf61',
    source: {
      video: { codec: 'avc1.64001f', width: 1280, height: 720, rates, keyframeIntervalS: 2 },
      audio: { codec: 'mp4a.40.2', sampleRate: 48_000, channels: 2, rates: undefined },
    },
    ladder: {
      renditions: [{ id: '480p', state: 'waiting', video: undefined }],
      leftOut: [{ id: '1080p', reason: 'larger_than_source' }],
      transcoder: { restarts: 1, lagMs: 41.7 },
    },
    hasThumbnail: false,
    warnings: [{ code: 'timestamps_jumped', severity: 'issue', message: 'the timestamps jumped', since: ms(7) }],
    ...change,
  };
}

/** A webhook of a user that gets no events. */
export function someWebhook(owner: UserId, change: Partial<Webhook> = {}): Webhook {
  return {
    id: newWebhookId(),
    userId: owner,
    name: 'a webhook',
    url: 'https://example.com/hook',
    createdAt: ms(1_700_000_000_005),
    events: [],
    streamId: undefined,
    sharedSecret: newSharedSecret(),
    previousSecrets: [],
    disabled: undefined,
    lastTriggeredAt: undefined,
    lastFailure: undefined,
    resendAfter: undefined,
    ...change,
  };
}

/** A node. */
export function someNode(change: Partial<ServiceNode> = {}): ServiceNode {
  return { id: newNodeId(), url: 'http://127.0.0.1:8080', ...change };
}

/** An entry of the audit log for a change on the command line. */
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

/** A receipt without a stored answer. */
export const someReceipt = (change: Partial<AuditEntry> = {}): Receipt => ({ audit: someAudit(change) });
