/**
 * The quotas of a user in the API.
 */

import { MAX_QUOTA, QUOTA_NAMES, type QuotaChange, type QuotaName, type Quotas } from '#domain/quotas.ts';
import { Type } from '#lib/schema.ts';

/** The largest number of rows that are counted, because counting more costs more than the exact number is worth. */
export const MAX_COUNTED = 100_000;

/** What to send for a quota. Errors end with this and the meaning of the quota, and the OpenAPI document puts the meaning first. */
export const QUOTA_VALUE = `a whole number up to ${MAX_QUOTA}, 0 for no limit, or null for the default.`;

const WHAT: Readonly<Record<QuotaName, string>> = {
  streams: 'Streams that the user may have',
  apiKeys: 'API keys that the user may have',
  publishers: 'Publishers that may be connected at the same time, on each server',
  transcodes: 'Sessions that may be transcoded at the same time, on each server',
  ingestBitrateKbps: 'Bitrate in kbit/s that each publisher may send, averaged over some seconds',
  mediaMemoryMib: 'Media memory in MiB that all sessions of the user together may use, on each server',
  publishesPerMinute: 'Publishes that the user may start in a minute, on each server',
  sessions: 'Sessions that are kept. When there are more, the oldest ended ones are deleted',
  clips: 'Clips that the user may have',
  recordingGib:
    'Recordings in GiB that are kept. When there are more, running recordings end within a minute and live streams go on',
  viewers: 'Viewers that may watch at the same time, on each server',
  webhooks: 'Webhooks that the user may have',
  eventStreams: 'Event streams that may be open at the same time, on each server',
  requestsPerMinute: 'API requests that all keys of the user together may make in a minute, on each server',
};

const properties = <Schema>(schemaOf: (name: QuotaName) => Schema) =>
  Object.fromEntries(QUOTA_NAMES.map((name) => [name, schemaOf(name)]));

/** The quotas that apply to a user. */
export const QuotasSchema = Type.Unsafe<Quotas>({
  type: 'object',
  description: 'The quotas of the user. 0 means no limit.',
  properties: properties((name) => ({ type: 'integer', description: `${WHAT[name]}.` })),
  required: [...QUOTA_NAMES],
});

/** How much of the quotas is in use. */
export const UsageSchema = Type.Object(
  {
    streams: Type.Integer({ description: `Streams, counted up to ${MAX_COUNTED}.` }),
    apiKeys: Type.Integer({ description: `API keys that are not revoked, counted up to ${MAX_COUNTED}.` }),
    clips: Type.Integer({ description: `Clips, counted up to ${MAX_COUNTED}.` }),
    recordingGib: Type.Number({
      description: 'Recordings in GiB, with those that run, and what clips keep of deleted recordings.',
    }),
    webhooks: Type.Integer({ description: `Webhooks, counted up to ${MAX_COUNTED}.` }),
    publishers: Type.Integer({ description: 'Publishers connected to the server that answers.' }),
    transcodes: Type.Integer({ description: 'Sessions that are being transcoded on the server that answers.' }),
    mediaMemoryMib: Type.Integer({ description: 'Media memory of all sessions in MiB, on the server that answers.' }),
    viewers: Type.Integer({ description: 'Viewers of the server that answers, at this moment.' }),
  },
  { description: 'How much of the quotas is in use. Present only in answers about one user.' },
);

/** Changes of quotas that an admin makes. */
export const QuotaChangeSchema = Type.Unsafe<QuotaChange>({
  type: 'object',
  description: `an object of any of ${QUOTA_NAMES.join(', ')}.`,
  properties: properties((name) => ({
    type: ['integer', 'null'],
    minimum: 0,
    maximum: MAX_QUOTA,
    description: `${QUOTA_VALUE} ${WHAT[name]}.`,
  })),
  additionalProperties: false,
});
