/**
 * Chooses the sessions and streams that need attention.
 */
import type { Session, Stream } from '../../shared/types.ts';

/** The sessions whose encoder was lost and is still waited for, and the live streams with issues. */
export function needingAttention<
  LiveStream extends Pick<Stream, 'isHealthy'>,
  PastSession extends Pick<Session, 'phase'>,
>(
  live: readonly LiveStream[],
  notLive: readonly PastSession[],
): { readonly lost: readonly PastSession[]; readonly sick: readonly LiveStream[]; readonly isAny: boolean } {
  const lost = notLive.filter(({ phase }) => phase === 'reconnecting');
  const sick = live.filter(({ isHealthy }) => isHealthy === false);
  return { lost, sick, isAny: lost.length + sick.length > 0 };
}
