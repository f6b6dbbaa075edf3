/**
 * The names of quotas.
 */

/** The name of each quota, with its unit. */
export const QUOTA_WORDS: Readonly<Record<string, string>> = {
  streams: 'Streams',
  apiKeys: 'API keys',
  publishers: 'Encoders at the same time',
  transcodes: 'Transcoded streams at the same time',
  ingestBitrateKbps: 'Bitrate of an encoder, in kbit/s',
  mediaMemoryMib: 'Media memory, in MiB',
  publishesPerMinute: 'Starts of encoders in a minute',
  sessions: 'Sessions that are kept',
  clips: 'Clips',
  recordingGib: 'Recordings, in GiB',
  viewers: 'Viewers at the same time',
  webhooks: 'Webhooks',
  eventStreams: 'Event streams at the same time',
  requestsPerMinute: 'API requests in a minute',
};
