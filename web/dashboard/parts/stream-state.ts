/**
 * The state of a stream in one word, with its color.
 */
import type { Stream } from '../../shared/types.ts';

/** A word about a stream. */
export interface StreamState {
  readonly word: 'Suspended' | 'Live' | 'Live, with issues' | 'Offline' | 'Never live';
  readonly tone: 'live' | 'bad' | 'warn' | 'plain';
}

/** What matters most about a stream. */
export function streamState(stream: Pick<Stream, 'suspended' | 'isActive' | 'isHealthy' | 'lastSeen'>): StreamState {
  if (stream.suspended) return { word: 'Suspended', tone: 'bad' };
  if (stream.isActive && stream.isHealthy === false) return { word: 'Live, with issues', tone: 'warn' };
  if (stream.isActive) return { word: 'Live', tone: 'live' };
  return stream.lastSeen === 0 ? { word: 'Never live', tone: 'plain' } : { word: 'Offline', tone: 'plain' };
}
