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
import type { PlaybackPolicySchema } from '#api/schemas/playback-policy.ts';
import type { ProfileSchema } from '#api/schemas/profile.ts';
import type { SamplesSchema } from '#api/schemas/sample.ts';
import type { SessionSchema } from '#api/schemas/session.ts';
import type { CreatedSigningKeySchema, SigningKeySchema } from '#api/schemas/signing-key.ts';
import type { StreamSchema } from '#api/schemas/stream.ts';
import type { StreamInfoSchema } from '#api/schemas/stream-info.ts';
import type { UsageSumSchema } from '#api/schemas/usage.ts';
import type { UserSchema } from '#api/schemas/user.ts';
import type {
  WebhookDeliverySchema,
  WebhookLogSchema,
  WebhookSchema,
  WebhookTestSchema,
} from '#api/schemas/webhook.ts';

export type ServiceEvent = Static<typeof EventSchema>;
export type Stream = Static<typeof StreamSchema>;
export type Session = Static<typeof SessionSchema>;
export type StreamInfo = Static<typeof StreamInfoSchema>;
export type Health = Static<typeof HealthSchema>;
export type Ingest = Static<typeof IngestSchema>;
export type Profile = Static<typeof ProfileSchema>;
export type PlaybackPolicy = Static<typeof PlaybackPolicySchema>;
export type ApiToken = Static<typeof ApiTokenSchema>;
export type CreatedApiToken = Static<typeof CreatedApiTokenSchema>;
export type SigningKey = Static<typeof SigningKeySchema>;
export type CreatedSigningKey = Static<typeof CreatedSigningKeySchema>;
export type BrowserSession = Static<typeof BrowserSessionSchema>;
export type Webhook = Static<typeof WebhookSchema>;
export type WebhookLog = Static<typeof WebhookLogSchema>;
export type WebhookTest = Static<typeof WebhookTestSchema>;
export type WebhookDelivery = Static<typeof WebhookDeliverySchema>;
export type User = Static<typeof UserSchema>;
export type AuditEntry = Static<typeof AuditEntrySchema>;
export type Asset = Static<typeof AssetSchema>;
export type Attempt = Static<typeof AttemptSchema>;
export type Samples = Static<typeof SamplesSchema>;
export type UsageSum = Static<typeof UsageSumSchema>;
export type DoctorReport = Static<typeof DoctorSchema>;
export type ServiceNode = Static<typeof NodeSchema>;
