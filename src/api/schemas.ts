/**
 * The objects of the interface, defined once, one file each: the same definitions check requests, give handlers their types and
 * make the OpenAPI document. A request field's description completes "send ...", since it ends the sentence a wrong value is
 * answered with. To add one, write its file and name it here.
 */
import { AccessSchema } from './schemas/access.ts';
import { ApiTokenSchema, CreatedApiTokenSchema, NewApiTokenSchema } from './schemas/api-token.ts';
import { AuditEntrySchema } from './schemas/audit-entry.ts';
import { ErrorSchema } from './schemas/error.ts';
import { HealthSchema } from './schemas/health.ts';
import { IngestSchema } from './schemas/ingest.ts';
import { NewStreamSchema } from './schemas/new-stream.ts';
import { PlaybackSchema } from './schemas/playback.ts';
import { ProfileSchema } from './schemas/profile.ts';
import { SessionSchema } from './schemas/session.ts';
import { StreamSchema } from './schemas/stream.ts';
import { RecordSchema, StreamChangeSchema, StreamIdsSchema, SuspendedSchema } from './schemas/stream-change.ts';
import { StreamInfoSchema } from './schemas/stream-info.ts';
import { NewUserSchema, UserChangeSchema, UserSchema } from './schemas/user.ts';
import { ViewershipSchema } from './schemas/viewership.ts';

/** All of them, for the document's list of components. */
export const SCHEMAS = [
  ProfileSchema,
  NewStreamSchema,
  StreamChangeSchema,
  SuspendedSchema,
  RecordSchema,
  StreamIdsSchema,
  HealthSchema,
  StreamSchema,
  SessionSchema,
  StreamInfoSchema,
  ViewershipSchema,
  PlaybackSchema,
  IngestSchema,
  AccessSchema,
  NewApiTokenSchema,
  ApiTokenSchema,
  CreatedApiTokenSchema,
  NewUserSchema,
  UserChangeSchema,
  UserSchema,
  AuditEntrySchema,
  ErrorSchema,
];
