/**
 * Reads times and spans of time from query parameters.
 */
import { MillraceError } from '#domain/errors.ts';
import { Type } from '#lib/schema.ts';
import { DAY_MS, HOUR_MS, type Milliseconds, ms } from '#lib/units.ts';
import { type RawQuery, readText, refused } from './query.ts';

/** An ISO 8601 date, optionally with a time and a time zone. */
const ISO_DATE = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** The latest time that dates can express, in milliseconds. */
const LATEST_MS = 8_640_000_000_000_000;

/** The lengths of spans that counters can be summed for, in milliseconds. */
export const TIME_STEPS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS } as const;

/** Makes the query parameters of a span of time. @param whole sentences about what is included at its beginning and end */
const spanQuery = (whole: { readonly from: string; readonly to: string }) => ({
  from: Type.Optional(
    Type.String({
      description: `The beginning: milliseconds since the Unix epoch, or an ISO 8601 date, which may have a time. It is in UTC unless it names a time zone.${whole.from}`,
      examples: ['2026-11-01T00:00:00Z'],
    }),
  ),
  to: Type.Optional(
    Type.String({
      description: `The end, in the same form. The default is now.${whole.to}`,
      examples: ['1795175107399'],
    }),
  ),
});

/** The query parameters of a span of time. */
export const SPAN_QUERY = spanQuery({ from: '', to: '' });

/** The query parameters of a span of time that is extended to whole hours. */
export const SPAN_OF_HOURS_QUERY = spanQuery({
  from: ' The hour of this time is included as a whole.',
  to: ' Hours that begin before this time are included as a whole, so the `to` of one month can be the `from` of the next.',
});

/** Reads a parameter that is a time. Undefined when it is missing. @throws {MillraceError} `invalid_request` for any other text */
export function readTime(query: RawQuery, name: string): Milliseconds | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const time = /^\d{1,16}$/.test(text) ? Number(text) : readIsoDate(text);
  if (time >= 0 && time <= LATEST_MS) return ms(time);
  throw refused(name, 'must be milliseconds since the Unix epoch, or an ISO 8601 date');
}

/** Reads a date in UTC, or in the time zone that it names. NaN for any other text, and for a day that does not exist. */
function readIsoDate(text: string): number {
  const [, date, time, zone] = ISO_DATE.exec(text) ?? [];
  if (date === undefined) return Number.NaN;
  // `Date.parse` takes 30 February for 2 March, and a time without a zone for one of this machine's zone.
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || !day.toISOString().startsWith(date)) return Number.NaN;
  return Date.parse(time !== undefined && zone === undefined ? `${text}Z` : text);
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
