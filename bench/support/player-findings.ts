/**
 * What players did in a case of the bench of players, and the row that says which of them miss the limit and by how much.
 */
import type { ShownFrame } from '../../test/support/players/player.ts';
import type { Answer, PlayerResult } from './question.ts';

/** What one player did. */
export interface Finding {
  readonly name: string;
  /** What it did, in words, for the details of the row. */
  readonly did: string;
  /** The number of seconds that the limit is about. Left out where a case has none, and where the player did not get so far. */
  readonly seconds?: number | undefined;
  /** What went wrong besides the limit, such as `shows no frame`. */
  readonly faults: readonly string[];
}

/** What all players must do. */
export interface Requirement {
  /** In words, such as `limit 5 s`. */
  readonly against: string;
  /** The largest number of seconds. There is no limit by default. */
  readonly limitS?: number;
}

/** The answer for a case, without the name of the case. */
export type CaseAnswer = Omit<Answer, 'question'>;

/**
 * The first frame that a publisher drew at this moment or later. A frame that seems to have been shown before it was drawn does not count:
 * it is damaged, so its code was misread. VLC shows such frames.
 */
export function firstNewFrame(frames: readonly ShownFrame[], sinceMs: number): ShownFrame | undefined {
  return frames.find(({ atMs, drawnAtMs }) => drawnAtMs >= sinceMs && atMs >= drawnAtMs);
}

/** Compares what the players did with what they must do. */
export function answerOf(
  findings: readonly Finding[],
  { against, limitS = Number.POSITIVE_INFINITY }: Requirement,
): CaseAnswer {
  const judged = findings.map((finding) => ({ ...finding, missed: missedBy(finding, limitS) }));
  const good = judged.filter(({ missed }) => missed === undefined).length;
  const missed = judged.flatMap(({ name, missed: by }) => (by === undefined ? [] : [`${name} (${by})`]));
  return {
    measured: `${good} of ${judged.length}${missed.length === 0 ? '' : `; missed by ${missed.join(', ')}`}`,
    against,
    ratio: good / judged.length,
    mustReach: 'all',
    reached: missed.length === 0,
    details: judged.map(({ name, did }) => `${name}: ${did}`).join('; '),
    players: judged.map(
      ({ name, seconds, faults, missed: by }): PlayerResult => ({
        name,
        result: faults.length > 0 ? faults.join(', ') : seconds === undefined ? '✓' : `${seconds.toFixed(1)} s`,
        reached: by === undefined,
      }),
    ),
  };
}

/** Says why a player missed the requirement. Undefined when it met it. */
function missedBy({ seconds, faults }: Finding, limitS: number): string | undefined {
  if (faults.length > 0) return faults.join(', ');
  return seconds === undefined || seconds <= limitS ? undefined : `by ${(seconds - limitS).toFixed(2)} s`;
}
