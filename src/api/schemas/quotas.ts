/**
 * The quotas of a user over HTTP.
 */
import { Type } from 'typebox';
import { MAX_QUOTA, QUOTA_NAMES, type QuotaChange, type QuotaName, type Quotas } from '#domain/quotas.ts';

/** Rows that are counted to tell how many there are: more would cost too much for a number that hardly anybody needs. */
export const MAX_COUNTED = 100_000;

const WHAT: Readonly<Record<QuotaName, string>> = {
  streams: 'Streams',
  apiKeys: 'API keys',
  publishers: 'Publishers at the same time, on each server',
  transcodes: 'Sessions transcoded at the same time, on each server',
  ingestBitrateKbps: 'Bitrate of each publisher in kbit/s, averaged over some seconds',
  mediaMemoryMib: 'Media memory of all sessions together in MiB, on each server',
  publishesPerMinute: 'Times that publishers may begin in a minute, on each server',
  sessions: 'Sessions that are kept: of more, the oldest that have ended are deleted',
  viewers: 'Viewers at the same time, on each server',
  requestsPerMinute: 'API requests in a minute with all keys together, on each server',
};

const properties = <Schema>(schemaOf: (name: QuotaName) => Schema) =>
  Object.fromEntries(QUOTA_NAMES.map((name) => [name, schemaOf(name)]));

/** The quotas that hold for a user. */
export const QuotasSchema = Type.Unsafe<Quotas>({
  type: 'object',
  description: 'How much the user may take of each; 0 = no limit.',
  properties: properties((name) => ({ type: 'integer', description: `${WHAT[name]}.` })),
  required: [...QUOTA_NAMES],
});

/** What of the quotas is used. */
export const UsageSchema = Type.Object(
  {
    streams: Type.Integer({ description: `Streams, counted up to ${MAX_COUNTED}.` }),
    apiKeys: Type.Integer({ description: `API keys that are not revoked, counted up to ${MAX_COUNTED}.` }),
    publishers: Type.Integer({ description: 'Publishers now, on the server that answers.' }),
    transcodes: Type.Integer({ description: 'Sessions being transcoded now, on the server that answers.' }),
    mediaMemoryMib: Type.Integer({ description: 'Media memory of all sessions in MiB, on the server that answers.' }),
    viewers: Type.Integer({ description: 'Viewers now, served by the server that answers.' }),
  },
  { description: 'What is used of the quotas. Only where one user is asked for.' },
);

/** What an admin changes of them. */
export const QuotaChangeSchema = Type.Unsafe<QuotaChange>({
  type: 'object',
  description: `an object of any of ${QUOTA_NAMES.join(', ')}.`,
  properties: properties((name) => ({
    type: ['integer', 'null'],
    minimum: 0,
    maximum: MAX_QUOTA,
    description: `a whole number from 0, which is no limit, to ${MAX_QUOTA}, or null for the default. ${WHAT[name]}.`,
  })),
  additionalProperties: false,
});
