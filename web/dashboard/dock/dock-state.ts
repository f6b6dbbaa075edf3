/**
 * What the dock says about a stream: whether it is live, its health in a word, and the first thing to change.
 */
import { sentence } from '../../shared/format.ts';
import type { Samples, StreamInfo } from '../../shared/types.ts';
import { adviceFor } from '../parts/advice.ts';
import { healthWord } from '../parts/health-word.ts';
import { uplinkWords } from '../plots/series.ts';

/** The state of a stream in the dock. */
export interface DockState {
  readonly isLive: boolean;
  readonly health: { readonly word: string; readonly tone: 'ok' | 'warn' | 'bad' | 'plain' };
  /** What is wrong, as a sentence. Undefined when nothing is. */
  readonly problem: string | undefined;
  /** What to change. Undefined when nothing can be said. */
  readonly advice: string | undefined;
}

/** The state. @param samples those of the last minute; empty for a stream that is not live */
export function dockState(
  { stream, session }: Pick<StreamInfo, 'stream' | 'session'>,
  samples: Samples['samples'],
): DockState {
  const { isActive, suspended, health: measured } = stream;
  const idle = { isLive: false, problem: undefined, advice: undefined };
  if (suspended) return { ...idle, health: { word: 'Suspended', tone: 'bad' } };
  if (session?.phase === 'reconnecting') {
    const advice = 'Is the encoder still running, and its computer online? It may come back with the same key.';
    return { isLive: false, health: healthWord(session), problem: 'The connection to the encoder was lost.', advice };
  }
  if (!isActive || !session) return { ...idle, health: { word: 'Offline', tone: 'plain' } };
  const issue = measured?.warnings.find(({ severity }) => severity === 'issue');
  if (issue !== undefined) {
    const advice = adviceFor(issue.code, measured?.encoder);
    return { isLive: true, health: healthWord(session), problem: sentence(issue.message), advice };
  }
  const uplink = uplinkWords(samples);
  return uplink?.isBad
    ? { isLive: true, health: { word: 'Issues', tone: 'warn' }, problem: uplink.text, advice: undefined }
    : { isLive: true, health: healthWord(session), problem: undefined, advice: undefined };
}
