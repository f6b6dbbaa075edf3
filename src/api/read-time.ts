/**
 * Reads times and spans of time from query parameters.
 */
import { MillraceError } from '#domain/errors.ts';
import { DAY_MS, HOUR_MS } from '#domain/usage.ts';
import { Type } from '#lib/schema.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { type RawQuery, readText, refused } from './query.ts';

/** The latest time that dates can express, in milliseconds. */
const LATEST_MS = 8_640_000_000_000_000;

/** The lengths of spans that counters can be summed for, in milliseconds. */
export const TIME_STEPS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS } as const;

/** The query parameters of a span of time. */
export const SPAN_QUERY = {
  from: Type.Optional(
    Type.String({
      description: 'The beginning: milliseconds since the Unix epoch, or an ISO 8601 date.',
      examples: ['2026-11-01T00:00:00Z'],
    }),
  ),
  to: Type.Optional(
    Type.String({
      description: 'The end, in the same form. The default is now.',
      examples: ['1795175107399'],
    }),
  ),
};

/** Reads a parameter that is a time. Undefined when it is missing. @throws {MillraceError} `invalid_request` for any other text */
export function readTime(query: RawQuery, name: string): Milliseconds | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const isNumber = /^\d{1,16}$/.test(text);
  const time = isNumber ? Number(text) : /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (time >= 0 && time <= LATEST_MS) return ms(time);
  throw refused(name, 'must be milliseconds since the Unix epoch, or an ISO 8601 date');
}

/** Reads the span of time of a request. @throws {MillraceError} `invalid_request` when it ends before it begins */
export function readSpan(
  query: RawQuery,
  defaults: { readonly from: Milliseconds; readonly to: Milliseconds },
): { readonly from: Milliseconds; readonly to: Milliseconds } {
  const from = readTime(query, 'from') ?? defaults.from;
  const to = readTime(query, 'to') ?? defaults.to;
  if (from > to) throw new MillraceError('invalid_request', 'The query parameter from must not be after to.');
  return { from, to };
}
