/**
 * Reads the span of a recording that a URL asks for: `?from=&to=`, in milliseconds of wall-clock time or in seconds from the start.
 */
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Excerpt, Recorded } from '#recording/recording.ts';

/** A value from this number on is a wall-clock time in milliseconds (in 1973 or later). A smaller value is in seconds from the start. */
const FIRST_INSTANT = 100_000_000_000;
const NUMBER = /^\d{1,14}(?:\.\d{1,6})?$/;

/** A time in a URL: a wall-clock time, or a position from the start. */
export type UrlTime =
  | { readonly type: 'instant'; readonly atMs: Milliseconds }
  | { readonly type: 'position'; readonly positionS: number };

/** The span in a URL. Undefined bounds are not in the URL. */
export interface UrlSpan {
  readonly from: UrlTime | undefined;
  readonly to: UrlTime | undefined;
}

/**
 * Reads `from` and `to` of a parsed query string.
 * @throws {MillraceError} `invalid_request` when one of them is not a time, or both are of the same kind and `from` is not before `to`
 */
export function parseSpan(query: Readonly<Record<string, unknown>>): UrlSpan {
  const span = { from: parseTime(query, 'from'), to: parseTime(query, 'to') };
  const { from, to } = span;
  if (from?.type === to?.type && from !== undefined && numberOf(from) >= numberOf(to!)) throw emptySpan();
  return span;
}

/**
 * Reads a time of a parsed query string. Undefined when it is not there.
 * @throws {MillraceError} `invalid_request` when it is not a time
 */
export function parseTime(query: Readonly<Record<string, unknown>>, name: string): UrlTime | undefined {
  const text = query[name];
  if (text === undefined || text === '') return undefined;
  const value = typeof text === 'string' && NUMBER.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) {
    throw new MillraceError(
      'invalid_request',
      `${name} must be one number: seconds from the start, or milliseconds since 1970.`,
    );
  }
  return value >= FIRST_INSTANT
    ? { type: 'instant', atMs: ms(Math.round(value)) }
    : { type: 'position', positionS: value };
}

/** The excerpt that an asset shows: the whole recording, or the span of a clip. */
export const excerptOf = ({ kind, fromMs, untilMs }: Pick<Asset, 'kind' | 'fromMs' | 'untilMs'>): Excerpt =>
  kind === 'clip' ? { fromMs, untilMs } : {};

/**
 * The part of an excerpt that a URL asks for, in wall-clock time. It never reaches beyond the excerpt.
 * @throws {MillraceError} `invalid_request` when it is empty
 */
export function narrow(excerpt: Excerpt, { from, to }: UrlSpan, recorded: Pick<Recorded, 'timeAt'>): Excerpt {
  const fromMs = latest(excerpt.fromMs, instantOf(from, excerpt, recorded));
  const untilMs = earliest(excerpt.untilMs, instantOf(to, excerpt, recorded));
  if (fromMs !== undefined && untilMs !== undefined && fromMs >= untilMs) throw emptySpan();
  return { fromMs, untilMs };
}

/** The wall-clock time of a time in a URL. Positions are counted from the start of the excerpt. Undefined when there is no time. */
export function instantOf(
  time: UrlTime | undefined,
  excerpt: Excerpt,
  recorded: Pick<Recorded, 'timeAt'>,
): Milliseconds | undefined {
  return time?.type === 'position' ? recorded.timeAt(time.positionS, excerpt.fromMs) : time?.atMs;
}

const numberOf = (time: UrlTime): number => (time.type === 'position' ? time.positionS : time.atMs);

function latest(a: Milliseconds | undefined, b: Milliseconds | undefined): Milliseconds | undefined {
  return a === undefined || b === undefined ? (a ?? b) : ms(Math.max(a, b));
}

function earliest(a: Milliseconds | undefined, b: Milliseconds | undefined): Milliseconds | undefined {
  return a === undefined || b === undefined ? (a ?? b) : ms(Math.min(a, b));
}

function emptySpan(): MillraceError {
  return new MillraceError(
    'invalid_request',
    'This recording has nothing between from and to; send an earlier from or a later to.',
  );
}
