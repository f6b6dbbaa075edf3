/**
 * Reads query parameters. A value is converted only if it has exactly the expected form. Every error names the parameter and never repeats
 * the value.
 */
import { MillraceError } from '#domain/errors.ts';

/** A query as it was received. A parameter given twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>;

/**
 * The text of a parameter, or undefined when it is missing.
 * @throws {MillraceError} `invalid_request` when the parameter is given more than once
 */
export function readText(query: RawQuery, name: string): string | undefined {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw refused(name, 'must be given only once');
}

/**
 * Reads a parameter that is true or false. Undefined when it is missing.
 * @throws {MillraceError} `invalid_request` for any value except `1`, `true`, `0` and `false`
 */
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

/**
 * Reads a parameter that is a whole number from `min` to `max`. Undefined when it is missing.
 * @throws {MillraceError} `invalid_request` for any other value, and for a number that is not written in plain digits
 */
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

/** Makes the error for a wrong query parameter. */
export function refused(name: string, problem: string): MillraceError {
  return new MillraceError('invalid_request', `The query parameter ${name} ${problem}.`);
}

/**
 * A validator that accepts everything, for routes that read their query with the functions of this file. There, the schema only documents
 * the query.
 */
export const documentedOnly = () => () => true;
