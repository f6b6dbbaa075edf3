/**
 * Values that are often known at once and sometimes have to be waited for. Waiting for a promise that is already fulfilled can cost as much as
 * the lookup of its value.
 */

/** A value, or the promise of one that is not known yet. */
export type Soon<Value> = Value | Promise<Value>;

/** Uses a value at once if it is known, and otherwise as soon as it is. */
export function whenKnown<Value, Result>(value: Soon<Value>, use: (value: Value) => Soon<Result>): Soon<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}
