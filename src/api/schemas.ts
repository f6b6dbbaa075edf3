/**
 * The objects of the interface, each defined once in a file of its own. The same definitions check requests, give handlers their types and
 * make the OpenAPI document. The description of a request field completes the sentence "send ...", because it ends the error text for a
 * wrong value. To add an object, write its file and name it in this list.
 */
import { AccessSchema } from './schemas/access.ts';
import { ApiTokenSchema, CreatedApiTokenSchema, NewApiTokenSchema } from './schemas/api-token.ts';
import { AssetChangeSchema, AssetSchema, CreatedClipSchema, NewClipSchema, TaskSchema } from './schemas/asset.ts';
import { AttemptSchema } from './schemas/attempt.ts';
import { AuditEntrySchema } from './schemas/audit-entry.ts';
import { BrowserSessionSchema } from './schemas/browser-session.ts';
import { DoctorSchema, NodeSchema } from './schemas/doctor.ts';
import { ErrorSchema } from './schemas/error.ts';
import { EventSchema } from './schemas/event.ts';
import { HealthSchema } from './schemas/health.ts';
import { IngestSchema } from './schemas/ingest.ts';
import { NewStreamSchema } from './schemas/new-stream.ts';
import { OwnerTokenSchema } from './schemas/owner-token.ts';
import { PlaybackSchema } from './schemas/playback.ts';
import { PlaybackPolicySchema } from './schemas/playback-policy.ts';
import { ProfileSchema } from './schemas/profile.ts';
import { SamplesSchema } from './schemas/sample.ts';
import { SessionSchema } from './schemas/session.ts';
import {
  CreatedSigningKeySchema,
  NewSigningKeySchema,
  SigningKeyChangeSchema,
  SigningKeySchema,
} from './schemas/signing-key.ts';
import { StreamSchema } from './schemas/stream.ts';
import { RecordSchema, StreamChangeSchema, StreamIdsSchema, SuspendedSchema } from './schemas/stream-change.ts';
import { StreamInfoSchema } from './schemas/stream-info.ts';
import { TestPictureSchema } from './schemas/test-picture.ts';
import { TotalViewsSchema, UsageMetricSchema, UsageSumSchema, ViewershipMetricSchema } from './schemas/usage.ts';
import { NewUserSchema, UserChangeSchema, UserSchema } from './schemas/user.ts';
import { ViewershipSchema } from './schemas/viewership.ts';
import {
  NewWebhookSchema,
  ResendSchema,
  WebhookChangeSchema,
  WebhookDeliverySchema,
  WebhookIdsSchema,
  WebhookLogSchema,
  WebhookReplacementSchema,
  WebhookSchema,
  WebhookTestSchema,
} from './schemas/webhook.ts';

/** All schemas, for the list of components in the OpenAPI document. */
export const SCHEMAS = [
  ProfileSchema,
  PlaybackPolicySchema,
  NewStreamSchema,
  StreamChangeSchema,
  SuspendedSchema,
  RecordSchema,
  StreamIdsSchema,
  HealthSchema,
  StreamSchema,
  SessionSchema,
  SamplesSchema,
  StreamInfoSchema,
  TestPictureSchema,
  AssetSchema,
  AssetChangeSchema,
  NewClipSchema,
  CreatedClipSchema,
  TaskSchema,
  ViewershipSchema,
  ViewershipMetricSchema,
  TotalViewsSchema,
  UsageSumSchema,
  UsageMetricSchema,
  PlaybackSchema,
  OwnerTokenSchema,
  IngestSchema,
  AttemptSchema,
  EventSchema,
  NewWebhookSchema,
  WebhookChangeSchema,
  WebhookReplacementSchema,
  WebhookIdsSchema,
  WebhookSchema,
  WebhookTestSchema,
  WebhookLogSchema,
  WebhookDeliverySchema,
  ResendSchema,
  AccessSchema,
  NewApiTokenSchema,
  ApiTokenSchema,
  CreatedApiTokenSchema,
  BrowserSessionSchema,
  NewSigningKeySchema,
  SigningKeyChangeSchema,
  SigningKeySchema,
  CreatedSigningKeySchema,
  NewUserSchema,
  UserChangeSchema,
  UserSchema,
  AuditEntrySchema,
  DoctorSchema,
  NodeSchema,
  ErrorSchema,
];
