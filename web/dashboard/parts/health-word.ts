/**
 * The health of a session in one word, with its color.
 */
import type { Session } from '../../shared/types.ts';

/** A word about the health of a session. */
export interface HealthWord {
  readonly word: 'Lost' | 'Issues' | 'Healthy';
  readonly tone: 'bad' | 'warn' | 'ok';
}

/** The health of a session that has not ended. */
export function healthWord({ phase, isHealthy }: Pick<Session, 'phase' | 'isHealthy'>): HealthWord {
  if (phase === 'reconnecting') return { word: 'Lost', tone: 'bad' };
  return isHealthy === false ? { word: 'Issues', tone: 'warn' } : { word: 'Healthy', tone: 'ok' };
}
