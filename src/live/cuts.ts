/**
 * Why the service cuts a publisher off, and what it is told.
 */
import type { EndReason } from '#domain/session.ts';
import type { Refusal } from '#ingest/ingest.ts';

/** The ends that somebody or something else than the publisher decided. */
export type CutReason = Extract<
  EndReason,
  'terminated' | 'suspended' | 'deleted' | 'key_rotated' | 'replaced' | 'media_memory_exhausted'
>;

/** What the encoder shows its user. */
export const CUTS: Readonly<Record<CutReason, Refusal>> = {
  terminated: { code: 'terminated', reason: 'The owner of this stream ended the broadcast; it may be started again.' },
  suspended: { code: 'stream_suspended', reason: 'This stream was suspended; its owner can resume it.' },
  deleted: { code: 'stream_deleted', reason: 'This stream was deleted; create another and use its stream key.' },
  key_rotated: { code: 'stream_key_rotated', reason: 'This stream has a new stream key: copy it into the encoder.' },
  replaced: { code: 'replaced_by_new_publisher', reason: 'Another encoder has taken over this stream.' },
  media_memory_exhausted: {
    code: 'media_memory_exhausted',
    reason: 'The server has no media memory left; lower the bitrate or try again later.',
  },
};

/** After these nothing of the stream may be watched any more, not even what viewers are watching. */
export function endsPlayback(reason: CutReason): boolean {
  return reason === 'suspended' || reason === 'deleted';
}
