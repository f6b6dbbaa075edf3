/**
 * Catches errors that are thrown inside one session, so that they reach neither other sessions nor the event loop.
 */
import type { ErrorPlace } from '#telemetry/internal-errors.ts';

/** Does some work and returns its result, or undefined when the work threw. */
export type Guard = <Result>(where: ErrorPlace, work: () => Result) => Result | undefined;

/** Makes a guard. @param onThrow is called with each error that was thrown; it must not throw itself */
export function guardWith(onThrow: (where: ErrorPlace, error: unknown) => void): Guard {
  return (where, work) => {
    try {
      return work();
    } catch (error) {
      onThrow(where, error);
      return undefined;
    }
  };
}

/** Wraps an object so that each of its methods is guarded. @param target must have methods only, whose results nobody uses */
export function guarded<Methods extends object>(guard: Guard, where: ErrorPlace, target: Methods): Methods {
  return new Proxy(target, {
    get(from, name) {
      const method: unknown = Reflect.get(from, name);
      return typeof method === 'function'
        ? (...args: unknown[]) => guard(where, () => Reflect.apply(method, from, args))
        : method;
    },
  });
}
