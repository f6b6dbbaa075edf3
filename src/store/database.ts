/**
 * The tables, as queries see them. `migrations/` makes them; the two change together.
 */
import type { ApiKeyId, MediaPath, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { EndReason, SessionPhase } from '#domain/session.ts';
import type { Milliseconds } from '#lib/units.ts';

/** A truth value as every database can hold it. */
export type Flag = 0 | 1;

/** Every table by its name. */
export interface Database {
  users: UsersTable;
  api_keys: ApiKeysTable;
  streams: StreamsTable;
  sessions: SessionsTable;
}

/** Users, unique by name. */
export interface UsersTable {
  id: UserId;
  name: string;
  created_at: Milliseconds;
}

/** API keys; the secret only as its SHA-256 in lower-case hex. */
export interface ApiKeysTable {
  id: ApiKeyId;
  user_id: UserId;
  name: string;
  secret_hash: string;
  created_at: Milliseconds;
  revoked_at: Milliseconds | null;
}

/** Streams. */
export interface StreamsTable {
  id: StreamId;
  user_id: UserId;
  name: string;
  created_at: Milliseconds;
  /** As it is, because its owner may read it. */
  stream_key: string;
  /** SHA-256 of the key, lower-case hex: what publishers are looked up by. */
  stream_key_hash: string;
  playback_id: PlaybackId;
  created_by_token_name: string;
  /** JSON text: keeps the key order in which the customer sent it. */
  profiles: string;
  is_active: Flag;
  last_seen: Milliseconds;
  suspended: Flag;
}

/** Sessions. */
export interface SessionsTable {
  id: SessionId;
  stream_id: StreamId;
  user_id: UserId;
  playback_id: PlaybackId;
  name: string;
  created_by_token_name: string;
  /** JSON text, as in streams. */
  profiles: string;
  phase: SessionPhase;
  created_at: Milliseconds;
  last_seen: Milliseconds;
  reconnect_until: Milliseconds | null;
  ended_at: Milliseconds | null;
  end_reason: EndReason | null;
  media_path: MediaPath;
  restarts: number;
  codecs: string;
}
