/**
 * The answer of a bench, which is one row of the table.
 */

/** A question with its number beside the limit, or beside a peer measured in the same run. */
export interface Answer {
  readonly question: string;
  /** The measured value with its unit. */
  readonly measured: string;
  /** What the value is compared with: a peer's value from this run, or the limit. Left out where `mustReach` says it already. */
  readonly against?: string;
  /** `measured` over `against`, where both are one number. */
  readonly ratio?: number;
  /** The requirement, such as `<= 2.5x`. */
  readonly mustReach: string;
  readonly reached: boolean;
  /** Details that do not fit into a line of the table. Only the JSON file has them. */
  readonly details?: string;
  /** What each player did, for questions about players. */
  readonly players?: readonly PlayerResult[];
}

/** What a player did, as a cell of the table of players says it. */
export interface PlayerResult {
  readonly name: string;
  /** A tick, a number of seconds, or what failed. */
  readonly result: string;
  readonly reached: boolean;
}

/** A measurement that shows nothing, because the machine could not do what it was asked for. It is repeated. */
export class InvalidRunError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'InvalidRunError';
  }
}

/** How to run a bench. */
export interface BenchOptions {
  /** For as long as the question says, which may be half an hour; otherwise for a few minutes, and the answer says so. */
  readonly long: boolean;
  /** How many publish/stop cycles to run, for questions that count in cycles; undefined leaves the number to the question. */
  readonly cycles?: number | undefined;
  /** Takes only the attacks whose name contains this text, for questions with several; all of them when undefined. */
  readonly only?: string | undefined;
}

/** One bench. Starts what it measures, stops it again, and may take minutes. */
export type Bench = (options: BenchOptions) => Promise<readonly Answer[]>;

/** Compares a number with a limit of the same unit that it must not exceed. */
export function atMost(question: string, measured: number, limit: number, unit: string): Answer {
  return {
    question,
    measured: `${show(measured)} ${unit}`,
    against: `limit ${show(limit)} ${unit}`,
    ratio: measured / limit,
    mustReach: `<= ${show(limit)} ${unit}`,
    reached: measured <= limit,
  };
}

/** Compares a cost with that of a peer in the same run, which it may exceed by the factor `times` at most. */
export function atMostTimes(
  question: string,
  measured: number,
  peer: { readonly name: string; readonly value: number },
  { times, unit }: { readonly times: number; readonly unit: string },
): Answer {
  return {
    question,
    measured: `${show(measured)} ${unit}`,
    against: `${peer.name} ${show(peer.value)} ${unit}`,
    ratio: measured / peer.value,
    mustReach: `<= ${times.toFixed(1)}x`,
    reached: measured <= times * peer.value,
  };
}

/** Compares a number with a limit of the same unit that it must reach. */
export function atLeast(question: string, measured: number, limit: number, unit: string): Answer {
  return {
    ...atMost(question, measured, limit, unit),
    mustReach: `>= ${show(limit)} ${unit}`,
    reached: measured >= limit,
  };
}

/** Compares a rate with that of a peer in the same run, of which it must reach the share `times`. */
export function atLeastTimes(
  question: string,
  measured: number,
  peer: { readonly name: string; readonly value: number },
  { times, unit }: { readonly times: number; readonly unit: string },
): Answer {
  const answer = atMostTimes(question, measured, peer, { times, unit });
  return { ...answer, mustReach: `>= ${times.toFixed(1)}x`, reached: measured >= times * peer.value };
}

/** The answer to a question that was not measured, because its peer is not installed. */
export function notMeasured(question: string, reason: string, mustReach: string): Answer {
  return { question, measured: 'not measured', against: reason, mustReach, reached: false };
}

/** The first faults, for the details of an answer that gives their number. Empty without any. */
export function firstOf(faults: readonly string[]): { readonly details?: string } {
  return faults.length === 0 ? {} : { details: faults.slice(0, 5).join('; ').slice(0, 1000) };
}

/** Three significant digits, and no exponent. */
export function show(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 });
}
