/**
 * Why sessions end, in words for their owner.
 */
import type { EndReason } from '#domain/session.ts';

/** The words for each reason. */
export const END_WORDS: Readonly<Record<EndReason, string>> = {
  unpublished: 'The encoder stopped',
  reconnect_window_elapsed: 'The connection was lost, and the encoder did not come back',
  replaced: 'The encoder came back with other settings',
  no_media: 'The encoder left before it sent media',
  media_memory_exhausted: 'No media memory was left',
  ingest_bitrate_exceeded: 'The bitrate was above the quota',
  timestamps_unusable: 'The timestamps of the encoder kept jumping',
  internal_error: 'An error on the server',
  terminated: 'Ended from here or by a program',
  suspended: 'The stream or its user was suspended',
  deleted: 'The stream was deleted',
  key_rotated: 'The stream key was replaced',
  node_lost: 'The server was lost',
};
