/**
 * Who may see a stream key: decided here and nowhere else.
 */
import type { Stream } from '#domain/stream.ts';
import type { Caller } from './authenticate.ts';

/**
 * The key as a field of an answer, or nothing. Only the stream's own user and an admin who asked for others' streams see it; sessions, playback information
 * and whatever else tells of a stream never do.
 */
export function streamKeyFor({ isAdmin, userId }: Caller, stream: Stream): { readonly streamKey?: string } {
  return isAdmin || userId === stream.userId ? { streamKey: stream.streamKey.reveal() } : {};
}
