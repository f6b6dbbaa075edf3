/**
 * Checks that query parameters are values which every database returns unchanged.
 */
import type { SqlValue } from '#store/engine.ts';

/**
 * Refuses values that a driver would store as something else. `node:sqlite` takes a lone object or Date for named parameters and stores
 * NULL, and `pg` makes JSON or text of them. Text with an unpaired surrogate would come back changed.
 * @throws {TypeError} that names the type, never the value
 */
export function bindable(value: unknown): SqlValue {
  if (value === null || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'string' && value.isWellFormed()) return value;
  const what = typeof value === 'string' ? 'text with an unpaired surrogate' : `a value of type ${typeof value}`;
  throw new TypeError(`the store cannot keep ${what}`);
}
