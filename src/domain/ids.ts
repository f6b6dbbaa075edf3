/**
 * The identifiers of the domain, each a type of its own, and the only place that makes them.
 */
import { randomBytes, randomUUID } from 'node:crypto';
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

/** A new stream id. Random, not time-ordered, so that it tells nothing of other streams. */
export const newStreamId = (): StreamId => randomUUID() as StreamId;
/** A new session id. */
export const newSessionId = (): SessionId => randomUUID() as SessionId;
/** A new user id. */
export const newUserId = (): UserId => randomUUID() as UserId;
/** A new API key id. */
export const newApiKeyId = (): ApiKeyId => randomUUID() as ApiKeyId;
/** A new playback id: 80 random bits, sharing nothing with the stream's other ids. */
export const newPlaybackId = (): PlaybackId => randomText(16) as PlaybackId;
/** A new media path: 80 random bits. */
export const newMediaPath = (): MediaPath => randomText(16) as MediaPath;
