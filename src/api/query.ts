/**
 * Reads what queries hold: text, of which nothing is converted unless it says exactly what it must. Every sentence names the
 * parameter and never repeats the value.
 */
import { MillraceError } from '#domain/errors.ts';

/** A query as it comes: a parameter given twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>;

/**
 * The text of a parameter; undefined when it is not there.
 * @throws {MillraceError} `invalid_request` when it is there more than once
 */
export function readText(query: RawQuery, name: string): string | undefined {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw refused(name, 'must be there only once');
}

/** @throws {MillraceError} `invalid_request` for anything but `1`, `true`, `0` and `false` */
export function readFlag(query: RawQuery, name: string): boolean | undefined {
  switch (readText(query, name)) {
    case undefined:
      return undefined;
    case '1':
    case 'true':
      return true;
    case '0':
    case 'false':
      return false;
    default:
      throw refused(name, 'must be 1, true, 0 or false');
  }
}

/** @throws {MillraceError} `invalid_request` for anything but a plain whole number between the bounds, both included */
export function readInteger(
  query: RawQuery,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw refused(name, `must be a whole number from ${min} to ${max}`);
}

/** What is wrong with a query parameter, as the error to throw. */
export function refused(name: string, problem: string): MillraceError {
  return new MillraceError('invalid_request', `The query parameter ${name} ${problem}.`);
}

/** For routes that read their query with the functions here: the schema only documents it. */
export const documentedOnly = () => () => true;
