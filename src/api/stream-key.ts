/**
 * Who may see a stream key: decided here and nowhere else.
 */
import type { Stream } from '#domain/stream.ts';
import type { Caller } from './authenticate.ts';
import { isInScope } from './scope.ts';

/**
 * The key as a field of an answer, or nothing. Only the stream's own user sees it, and an admin who asked for that user's streams;
 * sessions, playback information and whatever else tells of a stream never show it.
 */
export function streamKeyFor({ scope }: Caller, stream: Stream): { readonly streamKey?: string } {
  return isInScope(scope, stream.userId) ? { streamKey: stream.streamKey.reveal() } : {};
}
