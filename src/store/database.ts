/**
 * The tables, as queries see them. `migrations/` makes them; the two change together.
 */
import type { Generated } from 'kysely';
import type { AuditAction } from '#domain/audit.ts';
import type { EventType } from '#domain/events.ts';
import type {
  ApiKeyId,
  AuditId,
  EventId,
  MediaPath,
  NodeId,
  PlaybackId,
  SessionId,
  SigningKeyId,
  StreamId,
  UserId,
  WebhookId,
  WebhookLogId,
} from '#domain/ids.ts';
import type { EndReason, SessionPhase } from '#domain/session.ts';
import type { DeliveryState, WebhookDisabledReason } from '#domain/webhook.ts';
import type { Milliseconds } from '#lib/units.ts';

/** A truth value as every database can hold it. */
export type Flag = 0 | 1;

/** Every table by its name. */
export interface Database {
  users: UsersTable;
  api_keys: ApiKeysTable;
  signing_keys: SigningKeysTable;
  streams: StreamsTable;
  sessions: SessionsTable;
  nodes: NodesTable;
  publishers: PublishersTable;
  secrets: SecretsTable;
  idempotency: IdempotencyTable;
  audit: AuditTable;
  events: EventsTable;
  event_sequence: EventSequenceTable;
  webhooks: WebhooksTable;
  webhook_events: WebhookEventsTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_log: WebhookLogTable;
}

/** Users, unique by name. */
export interface UsersTable {
  id: UserId;
  name: string;
  created_at: Milliseconds;
  is_admin: Flag;
  suspended: Flag;
  /** The quotas that an admin has given the user, as JSON text. */
  quotas: string;
}

/** API keys; the secret only as its SHA-256 in lower-case hex. */
export interface ApiKeysTable {
  id: ApiKeyId;
  user_id: UserId;
  name: string;
  secret_hash: string;
  created_at: Milliseconds;
  revoked_at: Milliseconds | null;
  /** JSON text of what it may be used for; null = everything its user may do. */
  access: string | null;
  last_seen: Milliseconds;
}

/** Signing keys of users; the private keys are with their users only. */
export interface SigningKeysTable {
  id: SigningKeyId;
  user_id: UserId;
  name: string;
  created_at: Milliseconds;
  public_key: string;
  disabled: Flag;
}

/** Streams, deleted ones included. */
export interface StreamsTable {
  id: StreamId;
  user_id: UserId;
  name: string;
  /** The name as `domain/searchable-name.ts` makes it. */
  name_search: string;
  created_at: Milliseconds;
  /** As it is, because its owner may read it. */
  stream_key: string;
  /** What publishers are looked up by: the SHA-256 of the key in lower-case hex, on its shelf; see `key-shelf.ts`. */
  stream_key_hash: string;
  playback_id: PlaybackId;
  created_by_token_name: string;
  /** JSON text: keeps the key order in which the customer sent it. */
  profiles: string;
  is_active: Flag;
  last_seen: Milliseconds;
  suspended: Flag;
  record: Flag;
  creator_id: string | null;
  /** JSON text. */
  user_tags: string | null;
  /** JSON text; null = public. */
  playback_policy: string | null;
  last_terminated_at: Milliseconds | null;
  /** How often the API has terminated the stream. */
  terminations: number;
  health: string | null;
  deleted_at: Milliseconds | null;
  /** What the last event about the stream's activity said. */
  reported_active: Flag;
}

/** Sessions. */
export interface SessionsTable {
  id: SessionId;
  stream_id: StreamId;
  user_id: UserId;
  playback_id: PlaybackId;
  name: string;
  /** The name as `domain/searchable-name.ts` makes it. */
  name_search: string;
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
  /** Empty for a session that began before there were nodes. */
  node_id: NodeId | '';
  record: Flag;
  source_bytes: number;
  source_segments: number;
  /** Seconds. */
  source_segments_duration: number;
  transcoded_bytes: number;
  transcoded_segments: number;
  /** Seconds. */
  transcoded_segments_duration: number;
  peak_viewers: number;
  viewers: number;
  /** The stream's `terminations` when the session began. Once the stream has more, the session must end. */
  terminations: number;
  health: string | null;
  /** The last event about the session's phase; empty before the first one. */
  reported: '' | 'started' | 'ended';
}

/** Processes on this database; times are of its own clock. */
export interface NodesTable {
  id: NodeId;
  url: string;
  /** The node counts as gone from then on. */
  lease_until: Milliseconds;
  /** Names the process that holds the lease, because a node that is started again keeps its id. */
  incarnation: string;
}

/** Which node was the last to take a stream for its publisher. A row stays after the publisher has gone. */
export interface PublishersTable {
  stream_id: StreamId;
  node_id: NodeId;
  /** Whether the publisher is still connected to that node. */
  connected: Flag;
}

/** What only those who share the database know, by name. */
export interface SecretsTable {
  name: string;
  value: string;
}

/** Requests that may be repeated, unique by user, route and key. */
export interface IdempotencyTable {
  user_id: UserId;
  route: string;
  key_hash: string;
  body_hash: string;
  /** When it was claimed. */
  claimed_at: Milliseconds;
  /** Null until it is answered. */
  answer: string | null;
}

/** Who changed what. */
export interface AuditTable {
  id: AuditId;
  at: Milliseconds;
  /** Who did it; this and the next two are null for the operator on the command line. */
  user_id: UserId | null;
  key_id: ApiKeyId | null;
  key_name: string | null;
  action: AuditAction;
  resource_id: string;
  /** JSON text of a list of names. */
  fields: string;
  remote_address: string | null;
  request_id: string | null;
}

/** What happened, in the order of `sequence`. */
export interface EventsTable {
  /** In the order in which events were inserted, which need not be that of their commits. */
  position: Generated<number>;
  id: EventId;
  type: EventType;
  at: Milliseconds;
  user_id: UserId;
  stream_id: StreamId | null;
  session_id: SessionId | null;
  /** JSON text. */
  payload: string;
  /** The place in the list; null until the event has been numbered. */
  sequence: number | null;
  /** When it was numbered, by the database's clock; never earlier than that of the event before. */
  recorded_at: Milliseconds | null;
}

/** One row: what the event numbered last has. Whoever numbers events locks it. */
export interface EventSequenceTable {
  id: number;
  last: number;
  recorded_at: Milliseconds;
}

/** Webhooks, and which process delivers to each. Times of leases and of `due_at` are of the database's clock. */
export interface WebhooksTable {
  id: WebhookId;
  user_id: UserId;
  name: string;
  url: string;
  created_at: Milliseconds;
  /** JSON text of a list of event types; `webhook_events` holds them, too. */
  events: string;
  stream_id: StreamId | null;
  /** As it is, because its owner may read it. */
  shared_secret: string;
  previous_secret: string | null;
  previous_until: Milliseconds | null;
  disabled_at: Milliseconds | null;
  disabled_reason: WebhookDisabledReason | null;
  last_triggered_at: Milliseconds | null;
  /** JSON text. */
  last_failure: string | null;
  /** When its next delivery is due; null when none waits. */
  due_at: Milliseconds | null;
  /** Names the process that delivers to it. Empty for none. */
  lease: Generated<string>;
  leased_until: Generated<Milliseconds>;
}

/** Which webhooks hear of events of a type. */
export interface WebhookEventsTable {
  user_id: UserId;
  type: EventType;
  webhook_id: WebhookId;
}

/** What webhooks must still hear of, or will only hear of when their user says so. */
export interface WebhookDeliveriesTable {
  webhook_id: WebhookId;
  /** The event. */
  sequence: number;
  state: DeliveryState;
  attempts: number;
  created_at: Milliseconds;
  next_at: Milliseconds;
}

/** Requests that were sent to webhooks. */
export interface WebhookLogTable {
  id: WebhookLogId;
  webhook_id: WebhookId;
  user_id: UserId;
  event_id: EventId;
  type: EventType;
  stream_id: StreamId | null;
  at: Milliseconds;
  duration_ms: number;
  success: Flag;
  attempt: number;
  url: string;
  request_body: string;
  status_code: number | null;
  response_body: string;
  error: string | null;
}
