/**
 * What the wall shows: the sessions that are live or were just lost, those that need attention first, and how they share the screen.
 */
import type { Session } from '../../shared/types.ts';
import { type HealthWord, healthWord } from '../parts/health-word.ts';

/** A place on the wall. */
export interface Cell extends HealthWord {
  readonly id: string;
  readonly streamId: string;
  readonly playbackId: string;
  readonly isTranscoded: boolean;
  readonly name: string;
  readonly viewers: number;
  /** What is wrong, as a sentence without the full stop. Undefined when nothing is. */
  readonly problem: string | undefined;
}

type WallSession = Pick<
  Session,
  'id' | 'parentId' | 'playbackId' | 'profiles' | 'name' | 'phase' | 'viewers' | 'isHealthy' | 'issues' | 'createdAt'
>;

const RANKS = ['Lost', 'Issues', 'Healthy'] as const;

/**
 * The cells of sessions that are live or whose encoder was lost. Those that need attention come first. Otherwise the order is that in which
 * they began, so that a picture keeps its place while nothing happens to its stream.
 * @param sessions may have a session twice, and ended ones
 */
export function wallCells(sessions: readonly WallSession[]): readonly Cell[] {
  const shown = sessions.filter(({ phase }) => phase === 'live' || phase === 'reconnecting');
  return [...new Map(shown.map((session) => [session.id, session])).values()]
    .toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
    .map((session) => ({
      id: session.id,
      streamId: session.parentId,
      playbackId: session.playbackId,
      isTranscoded: session.profiles.length > 0,
      name: session.name,
      viewers: session.viewers,
      ...healthWord(session),
      problem: session.phase === 'reconnecting' ? 'no media is coming in' : session.issues?.[0],
    }))
    .toSorted((one, other) => RANKS.indexOf(one.word) - RANKS.indexOf(other.word));
}

/** The columns and rows with which `count` pictures of 16 by 9 are largest in an area, and fewest places stay empty. */
export function gridOf(
  count: number,
  width: number,
  height: number,
): { readonly columns: number; readonly rows: number } {
  let best = { columns: 1, rows: 1, size: 0, empty: 0 };
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const size = Math.min(width / columns, ((height / rows) * 16) / 9);
    const empty = columns * rows - count;
    // A difference in size of less than a hundredth does not count.
    const isLarger = size > best.size * 1.01;
    if (isLarger || (size > best.size * 0.99 && empty <= best.empty)) best = { columns, rows, size, empty };
  }
  return { columns: best.columns, rows: best.rows };
}
