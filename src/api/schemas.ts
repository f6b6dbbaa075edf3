/**
 * The objects of the interface, defined once, one file each: the same definitions check requests, give handlers their types and
 * make the OpenAPI document. A request field's description completes "send ...", since it ends the sentence a wrong value is
 * answered with. To add one, write its file and name it here.
 */
import { AccessSchema } from './schemas/access.ts';
import { ApiTokenSchema, CreatedApiTokenSchema, NewApiTokenSchema } from './schemas/api-token.ts';
import { AuditEntrySchema } from './schemas/audit-entry.ts';
import { ErrorSchema } from './schemas/error.ts';
import { EventSchema } from './schemas/event.ts';
import { HealthSchema } from './schemas/health.ts';
import { IngestSchema } from './schemas/ingest.ts';
import { NewStreamSchema } from './schemas/new-stream.ts';
import { PlaybackSchema } from './schemas/playback.ts';
import { PlaybackPolicySchema } from './schemas/playback-policy.ts';
import { ProfileSchema } from './schemas/profile.ts';
import { SessionSchema } from './schemas/session.ts';
import {
  CreatedSigningKeySchema,
  NewSigningKeySchema,
  SigningKeyChangeSchema,
  SigningKeySchema,
} from './schemas/signing-key.ts';
import { StreamSchema, StreamWarningSchema } from './schemas/stream.ts';
import { RecordSchema, StreamChangeSchema, StreamIdsSchema, SuspendedSchema } from './schemas/stream-change.ts';
import { StreamInfoSchema } from './schemas/stream-info.ts';
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
} from './schemas/webhook.ts';

/** All of them, for the document's list of components. */
export const SCHEMAS = [
  ProfileSchema,
  PlaybackPolicySchema,
  NewStreamSchema,
  StreamChangeSchema,
  SuspendedSchema,
  RecordSchema,
  StreamIdsSchema,
  HealthSchema,
  StreamWarningSchema,
  StreamSchema,
  SessionSchema,
  StreamInfoSchema,
  ViewershipSchema,
  PlaybackSchema,
  IngestSchema,
  EventSchema,
  NewWebhookSchema,
  WebhookChangeSchema,
  WebhookReplacementSchema,
  WebhookIdsSchema,
  WebhookSchema,
  WebhookLogSchema,
  WebhookDeliverySchema,
  ResendSchema,
  AccessSchema,
  NewApiTokenSchema,
  ApiTokenSchema,
  CreatedApiTokenSchema,
  NewSigningKeySchema,
  SigningKeyChangeSchema,
  SigningKeySchema,
  CreatedSigningKeySchema,
  NewUserSchema,
  UserChangeSchema,
  UserSchema,
  AuditEntrySchema,
  ErrorSchema,
];
