/**
 * The objects of the interface, defined once, one file each: the same definitions check requests, give handlers their types and
 * make the OpenAPI document. A request field's description completes "send ...", since it ends the sentence a wrong value is
 * answered with. To add one, write its file and name it here.
 */
import { ErrorSchema } from './schemas/error.ts';
import { HealthSchema } from './schemas/health.ts';
import { IngestSchema } from './schemas/ingest.ts';
import { NewStreamSchema } from './schemas/new-stream.ts';
import { PlaybackSchema } from './schemas/playback.ts';
import { ProfileSchema } from './schemas/profile.ts';
import { StreamSchema } from './schemas/stream.ts';

/** All of them, for the document's list of components. */
export const SCHEMAS = [
  ProfileSchema,
  NewStreamSchema,
  HealthSchema,
  StreamSchema,
  PlaybackSchema,
  IngestSchema,
  ErrorSchema,
];
