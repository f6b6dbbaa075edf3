/**
 * The tables as queries see them. Change them together with `migrations/`, which creates them.
 */
import type { Generated } from 'kysely';
import type { Asset, AssetPhase } from '#domain/asset.ts';
import type { AuditAction } from '#domain/audit.ts';
import type { EventType, WebhookEventType } from '#domain/events.ts';
import type {
  ApiKeyId,
  AssetId,
  AuditId,
  BrowserSessionId,
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

/** A truth value in the form that every database can store. */
export type Flag = 0 | 1;

/** Every table by its name. */
export interface Database {
  users: UsersTable;
  api_keys: ApiKeysTable;
  browser_sessions: BrowserSessionsTable;
  sign_in_links: SignInLinksTable;
  signing_keys: SigningKeysTable;
  streams: StreamsTable;
  former_stream_keys: FormerStreamKeysTable;
  sessions: SessionsTable;
  session_samples: SessionSamplesTable;
  usage_hours: UsageHoursTable;
  assets: AssetsTable;
  nodes: NodesTable;
  publishers: PublishersTable;
  secrets: SecretsTable;
  idempotency: IdempotencyTable;
  audit: AuditTable;
  events: EventsTable;
  event_sequence: EventSequenceTable;
  webhooks: WebhooksTable;
  deleted_webhooks: DeletedWebhooksTable;
  webhook_events: WebhookEventsTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_log: WebhookLogTable;
}

/** Users. Their names are unique. */
export interface UsersTable {
  id: UserId;
  name: string;
  created_at: Milliseconds;
  is_admin: Flag;
  suspended: Flag;
  /** The quotas that an admin has given the user, as JSON text. */
  quotas: string;
}

/** API keys. Of the secret only its SHA-256 in lower-case hex is stored. */
export interface ApiKeysTable {
  id: ApiKeyId;
  user_id: UserId;
  name: string;
  secret_hash: string;
  created_at: Milliseconds;
  revoked_at: Milliseconds | null;
  /** JSON text of the key's access rules. Null allows everything that its user may do. */
  access: string | null;
  last_seen: Milliseconds;
}

/** Browsers that are signed in. Those that have ended are deleted. */
export interface BrowserSessionsTable {
  id: BrowserSessionId;
  user_id: UserId;
  /** The API key that it was made with. Null for one made with a link. */
  key_id: ApiKeyId | null;
  secret_hash: string;
  created_at: Milliseconds;
  last_seen: Milliseconds;
  address: string;
}

/** Links that sign in once, at most one for each user. */
export interface SignInLinksTable {
  user_id: UserId;
  secret_hash: string;
  expires_at: Milliseconds;
}

/** Signing keys of users. Their private keys are not stored. */
export interface SigningKeysTable {
  id: SigningKeyId;
  user_id: UserId;
  name: string;
  created_at: Milliseconds;
  public_key: string;
  disabled: Flag;
}

/** Streams, including deleted ones. */
export interface StreamsTable {
  id: StreamId;
  user_id: UserId;
  name: string;
  /** The name in the form that `domain/searchable-name.ts` makes for searches. */
  name_search: string;
  created_at: Milliseconds;
  /** Stored as plain text, because its owner may read it. Empty once a deleted stream has been forgotten, four days after its deletion. */
  stream_key: string;
  /** The SHA-256 of the key in lower-case hex, after its shelf (see `key-shelf.ts`). Publishers are looked up by it. */
  stream_key_hash: string;
  playback_id: PlaybackId;
  created_by_token_name: string;
  /** JSON text, with the fields in the order in which the customer sent them. */
  profiles: string;
  is_active: Flag;
  last_seen: Milliseconds;
  suspended: Flag;
  record: Flag;
  creator_id: string | null;
  /** JSON text. */
  user_tags: string | null;
  /** JSON text. Null means public. */
  playback_policy: string | null;
  last_terminated_at: Milliseconds | null;
  /** How often the API has terminated the stream. */
  terminations: number;
  health: string | null;
  deleted_at: Milliseconds | null;
  /** The activity that the last event about it reported. */
  reported_active: Flag;
}

/** Stream keys that were replaced a short time ago, so that encoders that still use them can be told apart from strangers. */
export interface FormerStreamKeysTable {
  /** SHA-256 in lower-case hex. */
  key_hash: string;
  stream_id: StreamId;
  replaced_at: Milliseconds;
}

/** Sessions. */
export interface SessionsTable {
  id: SessionId;
  stream_id: StreamId;
  user_id: UserId;
  playback_id: PlaybackId;
  name: string;
  /** The name in the form that `domain/searchable-name.ts` makes for searches. */
  name_search: string;
  created_by_token_name: string;
  /** JSON text, as in the table of streams. */
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
  /** Empty for a session from a version without nodes. */
  node_id: NodeId | '';
  record: Flag;
  source_bytes: number;
  source_segments: number;
  /** In seconds. */
  source_segments_duration: number;
  transcoded_bytes: number;
  transcoded_segments: number;
  /** In seconds. */
  transcoded_segments_duration: number;
  peak_viewers: number;
  viewers: number;
  /** The value of the stream's `terminations` when the session began. When the stream's value is larger, the session must end. */
  terminations: number;
  health: string | null;
  /** The last event about the session's phase. Empty before the first one. */
  reported: '' | 'started' | 'ended';
  /** Null unless the session is recorded. */
  recording_path: MediaPath | null;
}

/** Recordings and clips, including deleted ones until they are forgotten. */
export interface AssetsTable {
  id: AssetId;
  kind: Asset['kind'];
  user_id: UserId;
  stream_id: StreamId;
  session_id: SessionId;
  playback_id: PlaybackId;
  path: MediaPath;
  media_path: MediaPath;
  clipped_from: string | null;
  name: string;
  /** The name in the form that `domain/searchable-name.ts` makes for searches. */
  name_search: string;
  creator_id: string | null;
  created_at: Milliseconds;
  updated_at: Milliseconds;
  /** When the session of a recording ended. Null for clips. */
  ended_at: Milliseconds | null;
  phase: AssetPhase;
  failure: string | null;
  from_ms: Milliseconds | null;
  until_ms: Milliseconds | null;
  /** In seconds. */
  duration_s: number;
  size_bytes: number;
  /** JSON text. */
  tracks: string;
  node_id: NodeId;
  is_stored: Flag;
  /** JSON text. Null means that the policy of the stream applies. */
  playback_policy: string | null;
  /** When a recording is to be deleted because its stream was deleted. */
  delete_at: Milliseconds | null;
  /** When it was deleted, from which time on its owner does not see it any more. */
  deleted_at: Milliseconds | null;
  /** The phase that the last event reported. Empty before the first one. */
  reported: AssetPhase | '';
}

/** Samples of sessions, one a minute. */
export interface SessionSamplesTable {
  session_id: SessionId;
  /** The end of the minute. */
  at: Milliseconds;
  /** Text of `domain/health-sample.ts`. */
  measured: string;
}

/** What each process counted for each stream in each hour. */
export interface UsageHoursTable {
  hour: Milliseconds;
  stream_id: StreamId;
  counted_by: string;
  user_id: UserId;
  playback_id: PlaybackId;
  ingest_ms: number;
  ingest_bytes: number;
  transcoded_ms: number;
  transcoded_bytes: number;
  delivered_bytes: number;
  views: number;
  watched_ms: number;
}

/** Processes that share this database. Times are those of the database's clock. */
export interface NodesTable {
  id: NodeId;
  url: string;
  /** The time from which the node counts as lost. */
  lease_until: Milliseconds;
  /** Identifies the process that holds the lease, because a node keeps its id when it is restarted. */
  incarnation: string;
}

/** The node that claimed each stream last. The row stays after the publisher has gone. */
export interface PublishersTable {
  stream_id: StreamId;
  node_id: NodeId;
  /** Whether the publisher is still connected to that node. */
  connected: Flag;
}

/** Secrets, by name, that only the processes on this database know. */
export interface SecretsTable {
  name: string;
  value: string;
}

/** Repeatable requests, unique by user, route and key. */
export interface IdempotencyTable {
  user_id: UserId;
  route: string;
  key_hash: string;
  body_hash: string;
  /** The time at which the request was claimed. */
  claimed_at: Milliseconds;
  /** Null until the request is answered. */
  answer: string | null;
}

/** The audit log. */
export interface AuditTable {
  id: AuditId;
  at: Milliseconds;
  /** The user who made the change. This column and the next two are null for changes on the command line. */
  user_id: UserId | null;
  key_id: ApiKeyId | BrowserSessionId | null;
  key_name: string | null;
  action: AuditAction;
  resource_id: string;
  /** JSON text of a list of names. */
  fields: string;
  remote_address: string | null;
  request_id: string | null;
}

/** Events. They are listed in the order of `sequence`. */
export interface EventsTable {
  /** The order in which events were inserted, which may differ from the order of their commits. */
  position: Generated<number>;
  id: EventId;
  type: EventType;
  at: Milliseconds;
  user_id: UserId;
  stream_id: StreamId | null;
  session_id: SessionId | null;
  /** JSON text. */
  payload: string;
  /** The position in the list. Null until the event has been numbered. */
  sequence: number | null;
  /** When the event was numbered, by the database's clock. Never earlier than for the event before it. */
  recorded_at: Milliseconds | null;
}

/** One row with the sequence number and time of the last numbered event. Whoever numbers events locks it. */
export interface EventSequenceTable {
  id: number;
  last: number;
  recorded_at: Milliseconds;
}

/** Webhooks, and which process delivers to each. Lease times and `due_at` are those of the database's clock. */
export interface WebhooksTable {
  id: WebhookId;
  user_id: UserId;
  name: string;
  url: string;
  created_at: Milliseconds;
  /** JSON text of a list of event types, which `webhook_events` holds, too. */
  events: string;
  stream_id: StreamId | null;
  /** Stored as plain text, because its owner may read it. */
  shared_secret: string;
  /** JSON text of the previous secrets that requests are signed with, too, the newest first. */
  previous_secrets: string;
  disabled_at: Milliseconds | null;
  disabled_reason: WebhookDisabledReason | null;
  last_triggered_at: Milliseconds | null;
  /** JSON text. */
  last_failure: string | null;
  /** The number of the event after which failed deliveries are still to be made due again. Null when that is done. */
  resend_after: number | null;
  /** When there is something to do for the webhook. Null when nothing waits. */
  due_at: Milliseconds | null;
  /** Identifies the process that delivers to the webhook. Empty for none. */
  lease: Generated<string>;
  leased_until: Generated<Milliseconds>;
}

/** Webhooks that were deleted, until their deliveries and log have been deleted, too. */
export interface DeletedWebhooksTable {
  id: WebhookId;
}

/** The event types that webhooks subscribe to. */
export interface WebhookEventsTable {
  user_id: UserId;
  type: WebhookEventType;
  webhook_id: WebhookId;
}

/** Deliveries that have not succeeded: those that will be tried, and those that were given up until their user asks for them. */
export interface WebhookDeliveriesTable {
  webhook_id: WebhookId;
  /** The sequence number of the event. */
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
