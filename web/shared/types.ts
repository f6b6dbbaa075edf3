/**
 * The objects of the API, as its own schemas define them.
 */
import type { Static } from 'typebox';
import type { ApiTokenSchema, CreatedApiTokenSchema } from '#api/schemas/api-token.ts';
import type { AssetSchema } from '#api/schemas/asset.ts';
import type { AttemptSchema } from '#api/schemas/attempt.ts';
import type { AuditEntrySchema } from '#api/schemas/audit-entry.ts';
import type { BrowserSessionSchema } from '#api/schemas/browser-session.ts';
import type { DoctorSchema, NodeSchema } from '#api/schemas/doctor.ts';
import type { EventSchema } from '#api/schemas/event.ts';
import type { HealthSchema } from '#api/schemas/health.ts';
import type { IngestSchema } from '#api/schemas/ingest.ts';
import type { OwnerTokenSchema } from '#api/schemas/owner-token.ts';
import type { PlaybackSchema } from '#api/schemas/playback.ts';
import type { PlaybackPolicySchema } from '#api/schemas/playback-policy.ts';
import type { ProfileSchema } from '#api/schemas/profile.ts';
import type { SamplesSchema } from '#api/schemas/sample.ts';
import type { SessionSchema } from '#api/schemas/session.ts';
import type { CreatedSigningKeySchema, SigningKeySchema } from '#api/schemas/signing-key.ts';
import type { StreamSchema } from '#api/schemas/stream.ts';
import type { StreamInfoSchema } from '#api/schemas/stream-info.ts';
import type { UsageMetricSchema, UsageSumSchema } from '#api/schemas/usage.ts';
import type { UserSchema } from '#api/schemas/user.ts';
import type {
  WebhookDeliverySchema,
  WebhookLogSchema,
  WebhookSchema,
  WebhookTestSchema,
} from '#api/schemas/webhook.ts';

/** An event of the service. */
export type ServiceEvent = Static<typeof EventSchema>;
/** A stream. */
export type Stream = Static<typeof StreamSchema>;
/** A session. */
export type Session = Static<typeof SessionSchema>;
/** The stream and session of an id, stream key or playback id. */
export type StreamInfo = Static<typeof StreamInfoSchema>;
/** The health of a stream or session. */
export type Health = Static<typeof HealthSchema>;
/** The addresses to which encoders publish. */
export type Ingest = Static<typeof IngestSchema>;
/** A profile, from which the server makes a rendition. */
export type Profile = Static<typeof ProfileSchema>;
/** Who may watch a stream or asset. */
export type PlaybackPolicy = Static<typeof PlaybackPolicySchema>;
/** How to play a stream, recording or clip. */
export type Playback = Static<typeof PlaybackSchema>;
/** A token with which the owner may watch. */
export type OwnerToken = Static<typeof OwnerTokenSchema>;
/** An API key, without its secret. */
export type ApiToken = Static<typeof ApiTokenSchema>;
/** An API key that has just been created, with its secret. */
export type CreatedApiToken = Static<typeof CreatedApiTokenSchema>;
/** A key with which tokens of viewers are signed, without its private part. */
export type SigningKey = Static<typeof SigningKeySchema>;
/** A signing key that has just been created, with its private part. */
export type CreatedSigningKey = Static<typeof CreatedSigningKeySchema>;
/** A browser that is signed in. */
export type BrowserSession = Static<typeof BrowserSessionSchema>;
/** A webhook. */
export type Webhook = Static<typeof WebhookSchema>;
/** A request to a webhook, with its answer. */
export type WebhookLog = Static<typeof WebhookLogSchema>;
/** The answer to a request for a test event. */
export type WebhookTest = Static<typeof WebhookTestSchema>;
/** The delivery of an event to a webhook. */
export type WebhookDelivery = Static<typeof WebhookDeliverySchema>;
/** A user. */
export type User = Static<typeof UserSchema>;
/** An entry of the audit log. */
export type AuditEntry = Static<typeof AuditEntrySchema>;
/** A recording or clip. */
export type Asset = Static<typeof AssetSchema>;
/** An encoder that was refused. */
export type Attempt = Static<typeof AttemptSchema>;
/** The health of a session over time. */
export type Samples = Static<typeof SamplesSchema>;
/** Usage of a period, stream or user. */
export type UsageSum = Static<typeof UsageSumSchema>;
/** Usage in the form of the reference service. */
export type UsageMetric = Static<typeof UsageMetricSchema>;
/** The findings of the doctor on a server. */
export type DoctorReport = Static<typeof DoctorSchema>;
/** A server that shares the database. */
export type ServiceNode = Static<typeof NodeSchema>;
