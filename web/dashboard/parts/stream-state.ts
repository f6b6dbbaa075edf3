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

/** Why a stream's renditions, and whether it is recorded, cannot be changed now. Undefined when they can. */
export const fixedWhileActive = ({ isActive }: Pick<Stream, 'isActive'>): string | undefined =>
  isActive ? 'This cannot change while the stream is live. End the broadcast first.' : undefined;
