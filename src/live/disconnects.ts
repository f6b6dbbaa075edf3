/**
 * The reasons for which the service disconnects a publisher, and what it tells the publisher.
 */
import type { EndReason } from '#domain/session.ts';
import type { Refusal } from '#ingest/ingest.ts';

/** The end reasons for which the service disconnects the publisher. */
export type DisconnectReason = Extract<
  EndReason,
  | 'terminated'
  | 'suspended'
  | 'deleted'
  | 'key_rotated'
  | 'replaced'
  | 'media_memory_exhausted'
  | 'ingest_bitrate_exceeded'
  | 'timestamps_unusable'
  | 'internal_error'
>;

/** What the publisher is told for each reason. Encoders show the sentence to their users. */
export const DISCONNECTS: Readonly<Record<DisconnectReason, Refusal>> = {
  terminated: { code: 'terminated', reason: 'The owner of this stream ended the broadcast; it may be started again.' },
  suspended: { code: 'stream_suspended', reason: 'This stream, or the account it belongs to, was suspended.' },
  deleted: { code: 'stream_deleted', reason: 'This stream was deleted; create another and use its stream key.' },
  key_rotated: { code: 'stream_key_rotated', reason: 'This stream has a new stream key: copy it into the encoder.' },
  replaced: { code: 'replaced_by_new_publisher', reason: 'Another encoder has taken over this stream.' },
  media_memory_exhausted: {
    code: 'media_memory_exhausted',
    reason: 'There is no media memory left for this stream; lower the bitrate or try again later.',
  },
  ingest_bitrate_exceeded: {
    code: 'ingest_bitrate_exceeded',
    reason: 'The bitrate is higher than this account may send; lower it in the encoder.',
  },
  timestamps_unusable: {
    code: 'timestamps_unusable',
    reason: 'The timestamps of this stream jump again and again; restart the encoder.',
  },
  internal_error: {
    code: 'internal_error',
    reason: 'Something failed on the server; the encoder can connect again.',
  },
};

/** Whether a disconnection for this reason also ends playback, for present viewers as well. */
export function endsPlayback(reason: DisconnectReason): boolean {
  return reason === 'suspended' || reason === 'deleted';
}
