/**
 * The identifiers of the domain, each a type of its own, and the only place that makes them.
 */
import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Brand } from '#lib/brand.ts';

/** Identifies a stream: a UUID. Public to its owner only. */
export type StreamId = Brand<string, 'StreamId'>;
/** Identifies a session (one publish of a stream): a UUID, from the same space as stream ids. */
export type SessionId = Brand<string, 'SessionId'>;
/** Identifies what viewers watch: 16 characters, public. */
export type PlaybackId = Brand<string, 'PlaybackId'>;
/** Identifies a user: a UUID. */
export type UserId = Brand<string, 'UserId'>;
/** Identifies an API key (not the key itself): a UUID. */
export type ApiKeyId = Brand<string, 'ApiKeyId'>;
/** Identifies one process on a shared database: a UUID, the same after a restart on the same data folder. */
export type NodeId = Brand<string, 'NodeId'>;
/** Identifies an entry of the audit log: a UUID. */
export type AuditId = Brand<string, 'AuditId'>;
/** The random folder one session's media lies under; never used twice: 16 characters. */
export type MediaPath = Brand<string, 'MediaPath'>;

/** 32 digits without i, l, o and u: five bits each, and nothing to misread when typed by hand. */
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

/** How many playback ids in a row begin alike. */
const RUN_LENGTH = 4096;
const RUN_PREFIX_LENGTH = 4;
let run = { prefix: '', left: 0 };

/**
 * A new stream id. Time-ordered, as all UUIDs here: rows made one after another lie side by side in the indexes of a database,
 * so that adding one costs the same among millions. What it tells, its owner knows from `createdAt`.
 */
export const newStreamId = (): StreamId => randomUUIDv7() as StreamId;
/** A new session id. */
export const newSessionId = (): SessionId => randomUUIDv7() as SessionId;
/** A new user id. */
export const newUserId = (): UserId => randomUUIDv7() as UserId;
/** A new API key id. */
export const newApiKeyId = (): ApiKeyId => randomUUIDv7() as ApiKeyId;
/** A new node id. */
export const newNodeId = (): NodeId => randomUUIDv7() as NodeId;
/** A new audit entry's id. */
export const newAuditId = (): AuditId => randomUUIDv7() as AuditId;
/**
 * A new playback id, sharing nothing with the stream's other ids: 60 random bits behind 20 that some thousand made after each
 * other in one process have in common, for the same reason as {@link newStreamId}.
 */
export function newPlaybackId(): PlaybackId {
  if (run.left === 0) run = { prefix: randomText(RUN_PREFIX_LENGTH), left: RUN_LENGTH };
  run.left -= 1;
  return (run.prefix + randomText(16 - RUN_PREFIX_LENGTH)) as PlaybackId;
}
/** A new media path: 80 random bits. */
export const newMediaPath = (): MediaPath => randomText(16) as MediaPath;
