/**
 * Which values a query may carry: those that every database gives back as they were.
 */
import type { SqlValue } from '#store/engine.ts';

/**
 * Refuses what a driver would store as something else: `node:sqlite` takes a lone object or Date for named parameters and
 * stores NULL, `pg` makes JSON or text of them, and text that is no Unicode (half a surrogate pair) comes back changed.
 * @throws {TypeError} that names the type, never the value
 */
export function bindable(value: unknown): SqlValue {
  if (value === null || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'string' && value.isWellFormed()) return value;
  const what = typeof value === 'string' ? 'text with half a surrogate pair' : `a value of type ${typeof value}`;
  throw new TypeError(`the store cannot keep ${what}`);
}
