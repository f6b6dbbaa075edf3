/**
 * The identifiers of the domain, each a type of its own, and the only place that makes them.
 */
import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Brand } from '#lib/brand.ts';

/** Identifies a stream: a UUID. Public to its owner only. */
export type StreamId = Brand<string, 'StreamId'>;
/** Identifies a session (one publish of a stream): a UUID, from the same space as stream ids. */
export type SessionId = Brand<string, 'SessionId'>;
/** Identifies an asset: a UUID. A recording has the id of its session. */
export type AssetId = Brand<string, 'AssetId'>;
/** Identifies a stream for its viewers: 16 characters, public. */
export type PlaybackId = Brand<string, 'PlaybackId'>;
/** Identifies a user: a UUID. */
export type UserId = Brand<string, 'UserId'>;
/** Identifies an API key (not the key itself): a UUID. */
export type ApiKeyId = Brand<string, 'ApiKeyId'>;
/** Identifies a browser session: a UUID. */
export type BrowserSessionId = Brand<string, 'BrowserSessionId'>;
/** Identifies a signing key (not the key itself): a UUID. */
export type SigningKeyId = Brand<string, 'SigningKeyId'>;
/** Identifies one process on a shared database: a UUID, the same after a restart on the same data folder. */
export type NodeId = Brand<string, 'NodeId'>;
/** Identifies an entry of the audit log: a UUID. */
export type AuditId = Brand<string, 'AuditId'>;
/** Identifies an event: a UUID. */
export type EventId = Brand<string, 'EventId'>;
/** Identifies a webhook: a UUID. */
export type WebhookId = Brand<string, 'WebhookId'>;
/** Identifies an entry of a webhook's log: a UUID. */
export type WebhookLogId = Brand<string, 'WebhookLogId'>;
/** The random folder in the URLs of one session's media: 16 characters, never used twice. */
export type MediaPath = Brand<string, 'MediaPath'>;

/** 32 digits without i, l, o and u: five bits each, and none that is easily misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Random text of {@link ALPHABET}, five bits a character.
 * @param length in characters
 */
export function randomText(length: number): string {
  let text = '';
  for (const byte of randomBytes(length)) text += ALPHABET[byte & 31];
  return text;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const RANDOM_ID = /^[0-9a-hjkmnp-tv-z]{16}$/;

/** Whether text has the form of a UUID as this module makes them, in lower case. No text of another form is the id of anything. */
export const isUuid = (text: string): boolean => UUID.test(text);
/** Whether text has the form that {@link newPlaybackId} gives. */
export const isPlaybackId = (text: string): text is PlaybackId => RANDOM_ID.test(text);
/** Whether text has the form that {@link newMediaPath} gives. */
export const isMediaPath = (text: string): text is MediaPath => RANDOM_ID.test(text);

/** How many playback ids in a row have the same prefix. */
const RUN_LENGTH = 4096;
const RUN_PREFIX_LENGTH = 4;
let run = { prefix: '', left: 0 };

/**
 * A new stream id. Time-ordered, as all UUIDs here: rows created one after another are neighbours in the indexes of a database, so that
 * adding one costs the same among millions. The time it reveals is known to its owner from `createdAt`.
 */
export const newStreamId = (): StreamId => randomUUIDv7() as StreamId;
/** A new session id. */
export const newSessionId = (): SessionId => randomUUIDv7() as SessionId;
/** A new clip's id. A recording needs none, because it has the id of its session. */
export const newClipId = (): AssetId => randomUUIDv7() as AssetId;
/** A new user id. */
export const newUserId = (): UserId => randomUUIDv7() as UserId;
/** A new API key id. */
export const newApiKeyId = (): ApiKeyId => randomUUIDv7() as ApiKeyId;
/** A new browser session's id. */
export const newBrowserSessionId = (): BrowserSessionId => randomUUIDv7() as BrowserSessionId;
/** A new signing key's id. */
export const newSigningKeyId = (): SigningKeyId => randomUUIDv7() as SigningKeyId;
/** A new node id. */
export const newNodeId = (): NodeId => randomUUIDv7() as NodeId;
/** A new audit entry's id. */
export const newAuditId = (): AuditId => randomUUIDv7() as AuditId;
/** A new event id. */
export const newEventId = (): EventId => randomUUIDv7() as EventId;
/** A new webhook id. */
export const newWebhookId = (): WebhookId => randomUUIDv7() as WebhookId;
/** A new id for an entry of a webhook's log. */
export const newWebhookLogId = (): WebhookLogId => randomUUIDv7() as WebhookLogId;
/**
 * A new playback id, which shares nothing with the stream's other ids. Its first 20 bits are random, but the same for 4,096 ids that one
 * process makes in a row, so that their rows are neighbours in an index. Its other 60 bits are random.
 */
export function newPlaybackId(): PlaybackId {
  if (run.left === 0) run = { prefix: randomText(RUN_PREFIX_LENGTH), left: RUN_LENGTH };
  run.left -= 1;
  return (run.prefix + randomText(16 - RUN_PREFIX_LENGTH)) as PlaybackId;
}
/** A new media path: 80 random bits. */
export const newMediaPath = (): MediaPath => randomText(16) as MediaPath;
