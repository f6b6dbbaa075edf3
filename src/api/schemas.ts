/**
 * The objects of the interface, each defined once in a file of its own. The same definitions check requests, give handlers their types and
 * make the OpenAPI document. The description of a request field completes the sentence "send ...", because it ends the error text for a
 * wrong value. To add an object, write its file and name it in this list.
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
